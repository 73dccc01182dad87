# telltale_web_ui(TARGET): embeds the built user interface, collector/web/ui/dist, in TARGET. The generated table is
# what collector/web/ui_files.h declares. dist is committed, so neither node nor npm is needed; how to make it anew is
# in collector/web/ui/README.md. Files are kept compressed: they are sent as they are.
find_program(TELLTALE_GZIP NAMES gzip REQUIRED)

function(telltale_web_ui target)
  set(dist ${CMAKE_SOURCE_DIR}/collector/web/ui/dist)
  set(out_dir ${CMAKE_BINARY_DIR}/generated/web_ui)
  file(MAKE_DIRECTORY ${out_dir})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${dist} ${dist}/*)
  if(NOT "index.html" IN_LIST files)
    message(FATAL_ERROR "collector/web/ui/dist has no index.html; make it with: npm ci && npm run build (in collector/web/ui)")
  endif()
  set(blobs "")
  set(symbols "")
  set(rows "")
  set(packed "")
  foreach(file IN LISTS files)
    string(MAKE_C_IDENTIFIER ${file} name)
    set(gz ${out_dir}/${name}.gz)
    add_custom_command(
      OUTPUT ${gz}
      COMMAND ${TELLTALE_GZIP} -9 -n -c ${dist}/${file} > ${gz}
      DEPENDS ${dist}/${file}
      COMMENT "Web file ${file}")
    list(APPEND packed ${gz})
    string(APPEND blobs "asm(\".pushsection .rodata\\n.balign 16\\n"
           "telltale_ui_${name}_begin:\\n.incbin \\\"${gz}\\\"\\n"
           "telltale_ui_${name}_end:\\n.popsection\");\n")
    string(APPEND symbols "extern \"C\" const char telltale_ui_${name}_begin[], telltale_ui_${name}_end[];\n")
    string(APPEND rows "    {\"/${file}\", telltale_ui_${name}_begin, telltale_ui_${name}_end},\n")
  endforeach()
  set(table ${out_dir}/ui_table.cc)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Made by cmake/WebUi.cmake; do not edit.
#include \"collector/web/ui_files.h\"
@blobs@@symbols@
namespace telltale::web {
namespace {
struct Row {
  std::string_view path;
  const char* begin;
  const char* end;
};
const Row kRows[] = {
@rows@};
}  // namespace

std::string_view FindUiFile(std::string_view path) {
  for (const Row& row : kRows) {
    if (row.path == path) return {row.begin, row.end};
  }
  return {};
}
}  // namespace telltale::web
")
  set_source_files_properties(${table} PROPERTIES OBJECT_DEPENDS "${packed}" SKIP_UNITY_BUILD_INCLUSION ON)  # else forgotten
  target_sources(${target} PRIVATE ${table})
endfunction()
