/* Included before the files of unit tests whose main has another name (kw_unit_tests in cmake/module.cmake):
 * its prototype. */
#pragma once

int main(int argc, char **argv);
