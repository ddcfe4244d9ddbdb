# Write-ahead logs and manifests of the embedded store.
kw_fuzz_target(wal SOURCES fuzz_wal.c USES kw_embedded)
kw_fuzz_target(manifest SOURCES fuzz_manifest.c USES kw_embedded)
