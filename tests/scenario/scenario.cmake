# Planted faults and innocent loads: small programs with a known misbehaviour, built with frame pointers and
# symbols so that their stacks can be told, and scripts that plant them on a running stack.
foreach(program spin leak stuck calls waits memory processes network)
  add_executable(scenario_${program} ${CMAKE_CURRENT_SOURCE_DIR}/scenario/programs/${program}.cc)
  target_compile_options(scenario_${program} PRIVATE -O1 -fno-omit-frame-pointer -Wno-error)
endforeach()
add_executable(scenario_replay ${CMAKE_CURRENT_SOURCE_DIR}/scenario/replay.cc)
target_link_libraries(scenario_replay PRIVATE telltale::collector_config telltale::fleetsim telltale::filter telltale::incident telltale::codec
  telltale::storage telltale::warnings)
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME planted_truth_test
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scenario/planted_truth_test.py)
set_tests_properties(planted_truth_test PROPERTIES LABELS scenario TIMEOUT 300 RESOURCE_LOCK kernel_sensor RUN_SERIAL ON
  ENVIRONMENT "TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_test(NAME corpus_test
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scenario/corpus_test.py)
set_tests_properties(corpus_test PROPERTIES LABELS scenario TIMEOUT 60
  ENVIRONMENT "TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_test(NAME corpus_live_test
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scenario/corpus_live_test.py)
# It runs the corpus once or twice, up to 240 s each.
set_tests_properties(corpus_live_test PROPERTIES LABELS scenario TIMEOUT 540 RESOURCE_LOCK kernel_sensor RUN_SERIAL ON
  ENVIRONMENT "TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
