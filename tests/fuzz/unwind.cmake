telltale_test(unwind_corpus_test LABEL fuzz
  SOURCES fuzz/corpus_test.cc fuzz/unwind_fuzzer.cc LINK telltale::agent_unwind)
target_compile_definitions(unwind_corpus_test PRIVATE TELLTALE_CORPUS="tests/fuzz/unwind_corpus")

# cmake -DCMAKE_CXX_COMPILER=clang++ -DTELLTALE_SANITIZE=fuzzer-no-link,address,undefined, then
# unwind_fuzzer tests/fuzz/unwind_corpus
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_executable(unwind_fuzzer EXCLUDE_FROM_ALL fuzz/unwind_fuzzer.cc)
  target_include_directories(unwind_fuzzer PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(unwind_fuzzer PRIVATE telltale::agent_unwind telltale::warnings -fsanitize=fuzzer)
endif()
