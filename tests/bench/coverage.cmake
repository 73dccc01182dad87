# Run by hand: prints the sketch's figures against their goals, asserts nothing.
add_executable(coverage_bench bench/coverage_bench.cc bench/coverage_sim.cc)
target_include_directories(coverage_bench PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(coverage_bench PRIVATE telltale::sketch telltale::warnings)
if(TELLTALE_BPF)
  add_executable(event_cost bench/event_cost.cc)
  target_include_directories(event_cost PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(event_cost PRIVATE telltale::sensor telltale::agent_unwind telltale::warnings)
  add_executable(coverage_truth bench/coverage_truth.cc)
  target_include_directories(coverage_truth PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(coverage_truth PRIVATE telltale::sensor_with_truth telltale::agent_sampled_hashes
    telltale::warnings)
endif()
