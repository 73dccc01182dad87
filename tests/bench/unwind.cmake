# Run by hand: prints what unwinding costs against its goals, asserts nothing.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_executable(unwind_bench bench/unwind_bench.cc)
  target_include_directories(unwind_bench PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(unwind_bench PRIVATE telltale::agent_unwind telltale::warnings)
endif()
