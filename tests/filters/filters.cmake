# Loadable filters for tests, one file each in ${TELLTALE_TRIAL_FILTERS}: trial-NAME.so.
set(TELLTALE_TRIAL_FILTERS ${CMAKE_BINARY_DIR}/tests/trial_filters)
set(trial_filters)
function(trial_filter name)
  add_library(trial_${name} MODULE filters/trial_filter.c)
  target_include_directories(trial_${name} PRIVATE ${CMAKE_SOURCE_DIR}/collector/filter)
  target_compile_definitions(trial_${name} PRIVATE NAME="${name}" ${ARGN})
  set_target_properties(trial_${name} PROPERTIES PREFIX "" OUTPUT_NAME trial-${name}
    LIBRARY_OUTPUT_DIRECTORY ${TELLTALE_TRIAL_FILTERS})
  set(trial_filters ${trial_filters} trial_${name} PARENT_SCOPE)
endfunction()
trial_filter(good)
trial_filter(crash WHAT_CRASH)
trial_filter(hang WHAT_HANG)
trial_filter(sleeper WHAT_SLEEP)
trial_filter(flood WHAT_FLOOD)
trial_filter(eater WHAT_EAT)
trial_filter(babble WHAT_BABBLE)
trial_filter(escape WHAT_ESCAPE)
trial_filter(stray WHAT_STRAY)
trial_filter(holder WHAT_HOLD)
trial_filter(later ABI=2)

telltale_test(filter_host_test LABEL integration TIMEOUT 600
  SOURCES filters/filter_host_test.cc LINK telltale::filter_host)
target_compile_definitions(filter_host_test PRIVATE
  TELLTALE_TRIAL_FILTERS="${TELLTALE_TRIAL_FILTERS}"
  TELLTALE_FILTER_HOST="$<TARGET_FILE:telltale-filter-host>")
add_dependencies(filter_host_test telltale-filter-host ${trial_filters})

telltale_test(fleet_filters_test LABEL integration TIMEOUT 600
  SOURCES filters/fleet_filters_test.cc LINK telltale_collector_rig protobuf::libprotobuf)
target_compile_definitions(fleet_filters_test PRIVATE
  TELLTALE_TRIAL_FILTERS="${TELLTALE_TRIAL_FILTERS}"
  TELLTALE_COLLECTOR_PROGRAM="$<TARGET_FILE:telltale-collector>"
  TELLTALE_FLEETSIM_PROGRAM="$<TARGET_FILE:telltale-fleetsim>")
add_dependencies(fleet_filters_test telltale-collector telltale-fleetsim ${trial_filters})

# The example, beside them.
configure_file(${CMAKE_SOURCE_DIR}/collector/filter/telltale_filter.h
  ${CMAKE_BINARY_DIR}/tests/filter_include/telltale/telltale_filter.h COPYONLY)
add_library(example_crowded MODULE ${CMAKE_SOURCE_DIR}/deploy/filters/crowded/crowded.c)
target_include_directories(example_crowded PRIVATE ${CMAKE_BINARY_DIR}/tests/filter_include)
set_target_properties(example_crowded PROPERTIES PREFIX "" OUTPUT_NAME crowded
  LIBRARY_OUTPUT_DIRECTORY ${TELLTALE_TRIAL_FILTERS})

# fleet_filters_test is the same in small, for sanitizers too; under them a fleet of 1,000 is beyond two CPUs.
if(NOT TELLTALE_SANITIZE)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  add_test(NAME bad_filters_fleet_test
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/bad_filters_fleet_test.py)
  set_tests_properties(bad_filters_fleet_test PROPERTIES LABELS integration TIMEOUT 900 COST 900 PROCESSORS 2
    ENVIRONMENT "TELLTALE_BUILD=${CMAKE_BINARY_DIR};TELLTALE_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endif()

telltale_test(filters_page_test LABEL integration TIMEOUT 300
  SOURCES filters/filters_page_test.cc LINK telltale_collector_rig absl::strings)
target_compile_definitions(filters_page_test PRIVATE
  TELLTALE_BUILD="${CMAKE_BINARY_DIR}" TELLTALE_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
