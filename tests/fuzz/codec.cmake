telltale_test(codec_corpus_test LABEL fuzz
  SOURCES fuzz/corpus_test.cc fuzz/codec_fuzzer.cc LINK telltale::codec)
target_compile_definitions(codec_corpus_test PRIVATE TELLTALE_CORPUS="tests/fuzz/codec_corpus")

# cmake -DCMAKE_CXX_COMPILER=clang++ -DTELLTALE_SANITIZE=fuzzer-no-link,address,undefined, then
# codec_fuzzer tests/fuzz/codec_corpus
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_executable(codec_fuzzer EXCLUDE_FROM_ALL fuzz/codec_fuzzer.cc)
  target_include_directories(codec_fuzzer PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(codec_fuzzer PRIVATE telltale::codec telltale::warnings -fsanitize=fuzzer)
endif()
