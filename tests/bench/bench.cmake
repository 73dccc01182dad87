# Measurements against the budgets: built with the tests, run by hand.
add_library(telltale_recorded_epochs STATIC bench/recorded_epochs.cc)
target_include_directories(telltale_recorded_epochs PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(telltale_recorded_epochs PUBLIC telltale::storage PRIVATE telltale::warnings)
add_executable(stored_bytes bench/stored_bytes.cc)
target_link_libraries(stored_bytes PRIVATE telltale_recorded_epochs telltale::warnings)
telltale_test(bench_recorded_epochs_test LABEL unit
  SOURCES bench/recorded_epochs_test.cc LINK telltale_recorded_epochs telltale_synthetic)
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME bench_cost_test COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/cost/cost_test.py)
set_tests_properties(bench_cost_test PROPERTIES LABELS unit TIMEOUT 30)
