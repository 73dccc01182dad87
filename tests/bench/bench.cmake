# Measurements against the budgets: built with the tests, run by hand.
add_executable(stored_bytes bench/stored_bytes.cc)
target_include_directories(stored_bytes PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(stored_bytes PRIVATE telltale::storage telltale::warnings)
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME bench_cost_test COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/cost/cost_test.py)
set_tests_properties(bench_cost_test PROPERTIES LABELS unit TIMEOUT 30)
