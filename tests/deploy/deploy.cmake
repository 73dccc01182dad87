# What is given to those who run it: packages, units, roll-out, dashboards, alert rules. From outside, by Python.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
function(deploy_test name timeout)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/deploy/${name}.py)
  set_tests_properties(${name} PROPERTIES LABELS deploy TIMEOUT ${timeout} COST ${timeout} ENVIRONMENT
    "TELLTALE_BUILD=${CMAKE_BINARY_DIR};TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()
deploy_test(packages_test 900)
deploy_test(fleet_test 1200)
deploy_test(fleet_steps_test 60)
deploy_test(container_test 900)
deploy_test(dashboards_live_test 300)
deploy_test(static_agent_test 1200)
deploy_test(troubleshooting_test 600)
deploy_test(stack_bytes_test 180)
# Made once, before all that read them; those may then run side by side, each has namespaces of its own.
add_test(NAME packages COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target packages)
set_tests_properties(packages PROPERTIES LABELS deploy TIMEOUT 600 COST 1300 FIXTURES_SETUP packages)
set_tests_properties(packages_test fleet_test container_test troubleshooting_test PROPERTIES FIXTURES_REQUIRED packages)
set_property(TEST packages_test fleet_test container_test troubleshooting_test APPEND PROPERTY ENVIRONMENT
  TELLTALE_PACKAGES_MADE=1)
# Its agent watches this kernel where it may.
set_tests_properties(dashboards_live_test stack_bytes_test PROPERTIES RESOURCE_LOCK kernel_sensor RUN_SERIAL ON)
set_tests_properties(stack_bytes_test PROPERTIES SKIP_RETURN_CODE 77)
