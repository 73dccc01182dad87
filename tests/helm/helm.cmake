# The Helm chart, rendered and checked; never installed. Debian's own python, for which Debian has the modules.
find_program(DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
add_test(NAME chart_test COMMAND ${DEBIAN_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/helm/chart_test.py)
set_tests_properties(chart_test PROPERTIES LABELS deploy TIMEOUT 900 ENVIRONMENT
  "TELLTALE_BUILD=${CMAKE_BINARY_DIR};TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
