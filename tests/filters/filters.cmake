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

telltale_test(filters_page_test LABEL integration TIMEOUT 300
  SOURCES filters/filters_page_test.cc LINK telltale_collector_rig absl::strings)
target_compile_definitions(filters_page_test PRIVATE
  TELLTALE_BUILD="${CMAKE_BINARY_DIR}" TELLTALE_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
