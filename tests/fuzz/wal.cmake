# Write-ahead logs of the embedded store.
kw_fuzz_target(wal SOURCES fuzz_wal.c USES kw_embedded)
