# Measurements against the budgets: built with the tests, run by hand.
add_executable(stored_bytes bench/stored_bytes.cc)
target_include_directories(stored_bytes PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(stored_bytes PRIVATE telltale::storage telltale::warnings)
