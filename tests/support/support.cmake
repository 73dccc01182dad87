# What tests are made with. What reports them is tested itself.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME facts_test COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/facts_test.py)
set_tests_properties(facts_test PROPERTIES LABELS unit TIMEOUT 30)
