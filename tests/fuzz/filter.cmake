# The filter language: the parser, the printer and filters at work.
kw_fuzz_target(filter SOURCES fuzz_filter.c USES kw_filter MUTATIONS 60000)
