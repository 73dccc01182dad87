# telltale::warnings carries the warning and sanitizer flags of our own code (never of generated code).
# telltale_library(NAME SOURCES... LINK ...) makes a static library telltale_NAME, alias telltale::NAME.
# telltale_unity(TARGET) compiles several of its sources at a time; telltale_library does it by itself.
# telltale_test(NAME LABEL <folder> [tsan] SOURCES... LINK ...) makes a GoogleTest binary known to ctest; the
#   target tests_<label> builds all tests of a label; unit tests are built by theirs alone. Label `tsan` marks what the
#   thread sanitizer must see, too; `long` is for unit tests that would take minutes under the address sanitizer.

add_library(telltale_warnings INTERFACE)
add_library(telltale::warnings ALIAS telltale_warnings)
# Options structs are filled by designated initializers that name only what differs from the default.
target_compile_options(telltale_warnings INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual -Werror
  # GCC 12 sees overlaps that cannot be in one-character string literals (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# The whole program is built with one set of sanitizers or none. By fuzzer-no-link fuzzers find their way in libraries and in
# themselves; tests have no use for it, and compile in four fifths of the time without.
set(telltale_fuzzed)
if(TELLTALE_SANITIZE)
  set(sanitizers ${TELLTALE_SANITIZE})
  if(TELLTALE_SANITIZE MATCHES ",fuzzer-no-link")
    set(telltale_fuzzed -fsanitize=fuzzer-no-link)
    string(REPLACE ",fuzzer-no-link" "" sanitizers ${TELLTALE_SANITIZE})
  endif()
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${TELLTALE_SANITIZE})
endif()

# Tests take most of a build's time, and little of it to run: what they test is in libraries.
set(telltale_test_optimization -O1)
if(TELLTALE_SANITIZE)
  set(telltale_test_optimization -O0)
endif()

function(telltale_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(telltale_${name} STATIC ${ARG_SOURCES})
  add_library(telltale::${name} ALIAS telltale_${name})
  target_include_directories(telltale_${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(telltale_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK} telltale::warnings)
  target_compile_options(telltale_${name} PRIVATE ${telltale_fuzzed})
  telltale_unity(telltale_${name})
endfunction()

# Most of a compilation is the headers of gRPC, Protobuf and Abseil: a few sources at a time read them once.
function(telltale_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TELLTALE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(TELLTALE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A source that another includes is no header: what it does not name is seen by nobody else.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

function(telltale_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABEL;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(TELLTALE_SANITIZE)
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${telltale_test_optimization})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main telltale::warnings)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if("unit" IN_LIST ARG_LABEL)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  # What may take long begins first.
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT}
    ENVIRONMENT "${ARG_ENVIRONMENT}")
  # One kernel, one sensor, and exact counts of what the host did: these run alone.
  if("bpf" IN_LIST ARG_LABEL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  foreach(label IN LISTS ARG_LABEL)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
endfunction()

# telltale_fuzzer(NAME LINK...): tests/fuzz/NAME_fuzzer.cc as a libFuzzer program where the compiler is clang
# (tests/fuzz/run builds and runs it), and a test that replays tests/fuzz/NAME_corpus with any compiler.
function(telltale_fuzzer name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  telltale_test(${name}_corpus_test LABEL fuzz SOURCES fuzz/corpus_test.cc fuzz/${name}_fuzzer.cc LINK ${ARG_LINK})
  target_compile_definitions(${name}_corpus_test PRIVATE TELLTALE_CORPUS="tests/fuzz/${name}_corpus")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_executable(${name}_fuzzer EXCLUDE_FROM_ALL fuzz/${name}_fuzzer.cc)
    add_dependencies(fuzzers ${name}_fuzzer)
    target_include_directories(${name}_fuzzer PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_options(${name}_fuzzer PRIVATE ${telltale_fuzzed})
    target_link_libraries(${name}_fuzzer PRIVATE ${ARG_LINK} telltale::warnings -fsanitize=fuzzer)
  endif()
endfunction()
