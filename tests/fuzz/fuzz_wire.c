/* The tables to fuzz: those with the most shapes, and complete calls and replies. */
#include "fuzz/fuzz_wire.h"

#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"
#include "thrift/odd_wire.h"

const kw_wire_struct *const fuzz_tables[FUZZ_TABLES] = {
    &kw_odd_Odd_wire,
    &kw_odd_Tree_wire,
    &kw_odd_Oddities_echo_args_wire,
    &kw_odd_Nothing_wire,
    &kw_api_Data_putMany_args_wire,
    &kw_api_Data_scan_args_wire,
    &kw_api_Data_scan_result_wire,
    &kw_api_Admin_createTable_args_wire,
    &kw_api_Admin_stats_result_wire,
    &kw_hb_THBaseService_getScannerRows_result_wire,
    &kw_hb_THBaseService_checkAndMutate_args_wire,
    &kw_hb_THBaseService_createTable_args_wire,
};
