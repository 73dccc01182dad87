# The committed files of the user interface are what its sources give, and small.
add_test(NAME web_dist_test COMMAND ${CMAKE_SOURCE_DIR}/collector/web/ui/check_dist)
set_tests_properties(web_dist_test PROPERTIES LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77)
