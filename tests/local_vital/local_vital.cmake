# A vital from outside the tree, as agent/sensor/NEW_VITAL.md shows it.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME local_vital_description_test
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/local_vital/description_test.py)
set_tests_properties(local_vital_description_test PROPERTIES LABELS unit TIMEOUT 120)
if(TELLTALE_BPF)
  # It builds the agent once more, beside this build so that ccache has all that does not depend on the vital: first beside
  # other tests, so that the one that wants the machine for itself finds it made.
  set(local_vital_test ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/local_vital/local_vital_test.py)
  add_test(NAME local_vital_build COMMAND ${local_vital_test} build)
  set_tests_properties(local_vital_build PROPERTIES LABELS integration COST 900)
  add_test(NAME local_vital_test COMMAND ${local_vital_test})
  set_tests_properties(local_vital_test PROPERTIES LABELS scenario RESOURCE_LOCK kernel_sensor RUN_SERIAL ON
    DEPENDS local_vital_build)
  set_tests_properties(local_vital_build local_vital_test PROPERTIES TIMEOUT 1200
    ENVIRONMENT "TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};TELLTALE_LOCAL_BUILD=${CMAKE_BINARY_DIR}-local-vital")
endif()
