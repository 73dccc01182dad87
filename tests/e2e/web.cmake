# The user interface in a real browser: Debian's Chromium, driven by playwright-core of collector/web/ui/node_modules. What
# it saw, view by view, is in e2e-pictures of the build directory.
telltale_test(browser_test LABEL e2e TIMEOUT 600 SOURCES e2e/browser_test.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/support/synthetic_node.cc ${CMAKE_CURRENT_SOURCE_DIR}/support/program.cc
  ENVIRONMENT TELLTALE_SHOTS=${CMAKE_BINARY_DIR}/e2e-pictures
  LINK telltale::web_front telltale::filter_query telltale::web_testing telltale::storage telltale::codec)

# A fault on this host, found in the browser. Alone, as all that watches the kernel: a scenario, too.
telltale_test(fault_test LABEL e2e scenario TIMEOUT 480 SOURCES e2e/fault_test.cc
  ENVIRONMENT TELLTALE_SHOTS=${CMAKE_BINARY_DIR}/e2e-pictures LINK telltale_agent_rig telltale_ingest_bench)
target_compile_definitions(fault_test PRIVATE TELLTALE_SPIN_PROGRAM="$<TARGET_FILE:scenario_spin>")
add_dependencies(fault_test scenario_spin)
set_tests_properties(fault_test PROPERTIES RESOURCE_LOCK kernel_sensor RUN_SERIAL ON FIXTURES_REQUIRED web_packages)

add_test(NAME web_dist_test COMMAND ${CMAKE_SOURCE_DIR}/collector/web/ui/check_dist)
set_tests_properties(web_dist_test PROPERTIES LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77)

# Its parts that need no browser.
add_test(NAME web_ui_test COMMAND node --test ${CMAKE_SOURCE_DIR}/tests/e2e/ui_test.mjs)
set_tests_properties(web_ui_test PROPERTIES LABELS e2e TIMEOUT 120 FIXTURES_REQUIRED web_packages)

# If they cannot be fetched the browser is not tried, and says so.
add_test(NAME web_packages COMMAND ${CMAKE_SOURCE_DIR}/collector/web/ui/fetch_packages)
set_tests_properties(web_packages PROPERTIES LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_SETUP web_packages)
set_tests_properties(browser_test PROPERTIES FIXTURES_REQUIRED web_packages)
