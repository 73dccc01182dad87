# telltale_bpf_objects(TARGET [DEFINE MACRO] [SCOPED] NAMES... [LOCAL FILES...]): compiles agent/sensor/bpf/NAME.bpf.c for the BPF machine with
# clang, strips DWARF (the BTF that CO-RE needs stays; 829 KB become 180 KB), and embeds the objects in
# TARGET. The generated C++ table is what agent/sensor/bpf_objects.h declares.
# LOCAL are a site's own programs (cmake/LocalVitals.cmake): FILE.bpf.c becomes the object local_FILE.
# With DEFINE the objects are a variant of their own, in a folder of that name.
# With SCOPED each is there a second time, as NAME_scoped, for a sensor that counts the tasks of one cgroup only: so
# those for a whole host have no instruction of it.
# Needs neither a BTF kernel nor kernel headers: the types are our own (kernel_types.bpf.h).
find_program(TELLTALE_BPF_CLANG NAMES clang clang-14 clang-16 clang-19 REQUIRED)
find_program(TELLTALE_BPF_STRIP NAMES llvm-strip llvm-strip-14 llvm-strip-16 llvm-strip-19 REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf)
if(TELLTALE_STATIC_AGENT)
  target_link_libraries(PkgConfig::LIBBPF INTERFACE elf z)  # an archive does not say what it needs
endif()

function(telltale_bpf_objects target)
  set(source_dir ${CMAKE_SOURCE_DIR}/agent/sensor/bpf)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SCOPED" "DEFINE" "LOCAL")
  set(out_dir ${CMAKE_BINARY_DIR}/generated/bpf)
  # Each object has the maps of all: how long they are must be the same everywhere.
  list(TRANSFORM TELLTALE_LOCAL_DEFINITIONS PREPEND -D OUTPUT_VARIABLE define)
  if(ARG_DEFINE)
    set(out_dir ${out_dir}/${ARG_DEFINE})
    list(APPEND define -D${ARG_DEFINE})
  endif()
  file(MAKE_DIRECTORY ${out_dir})
  file(GLOB headers CONFIGURE_DEPENDS ${source_dir}/*.bpf.h)
  list(APPEND headers ${CMAKE_SOURCE_DIR}/sketch/layout.h ${CMAKE_SOURCE_DIR}/sketch/slot.h
       ${CMAKE_SOURCE_DIR}/sketch/vital_ids.h ${CMAKE_BINARY_DIR}/generated/telltale_local_vitals.h)
  set(symbols "")
  set(blobs "")
  set(rows "")
  set(objects "")
  foreach(name IN LISTS ARG_UNPARSED_ARGUMENTS ARG_LOCAL)
    set(source ${source_dir}/${name}.bpf.c)
    if(name IN_LIST ARG_LOCAL)
      set(source ${name})
      get_filename_component(name ${source} NAME_WE)
      set(name local_${name})
    endif()
    set(plain ${name})
    set(kinds "")
    if(ARG_SCOPED)
      set(kinds _scoped)
    endif()
    foreach(kind IN ITEMS "" ${kinds})
      set(name ${plain}${kind})
      set(scoped "")
      if(kind)
        set(scoped -DTELLTALE_SCOPED)
      endif()
      set(object ${out_dir}/${name}.bpf.o)
      add_custom_command(
        OUTPUT ${object}
        COMMAND ${TELLTALE_BPF_CLANG} -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror
                -Wno-unused-function -Wno-unused-parameter -I${CMAKE_SOURCE_DIR} -I${CMAKE_BINARY_DIR}/generated ${define} ${scoped}
                -c ${source} -o ${object}
        COMMAND ${TELLTALE_BPF_STRIP} -g ${object}
        DEPENDS ${source} ${headers}
        COMMENT "BPF object ${name}" VERBATIM)
      list(APPEND objects ${object})
      string(APPEND blobs "asm(\".pushsection .rodata\\n.balign 16\\n"
             "telltale_bpf_${name}_begin:\\n.incbin \\\"${object}\\\"\\n"
             "telltale_bpf_${name}_end:\\n.popsection\");\n")
      string(APPEND symbols "extern \"C\" const char telltale_bpf_${name}_begin[], telltale_bpf_${name}_end[];\n")
      string(APPEND rows "    {\"${name}\", telltale_bpf_${name}_begin, telltale_bpf_${name}_end},\n")
    endforeach()
  endforeach()
  set(table ${out_dir}/bpf_objects.cc)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Made by cmake/BpfObject.cmake; do not edit.
#include \"agent/sensor/bpf_objects.h\"
@blobs@@symbols@
namespace telltale::agent {
namespace {
struct Row {
  std::string_view name;
  const char* begin;
  const char* end;
};
const Row kRows[] = {
@rows@};
}  // namespace

std::span<const char> FindBpfObject(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return {row.begin, row.end};
  }
  return {};
}
}  // namespace telltale::agent
")
  # In a unity source its dependencies would be forgotten, and a changed program left out of the agent.
  set_source_files_properties(${table} PROPERTIES OBJECT_DEPENDS "${objects}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${table})
endfunction()
