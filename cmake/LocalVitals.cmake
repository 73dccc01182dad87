# Vitals of a site's own, built into the agent from the directory TELLTALE_LOCAL_VITALS: each is one file NAME.vital
# (what it is: id, unit, sub-series, fields) and one NAME.bpf.c (the programs that count it).
# agent/sensor/NEW_VITAL.md tells how to write them. Without a directory there are none, at no cost.
#
# Sets: TELLTALE_LOCAL_TABLE (C++ source with their rows), TELLTALE_LOCAL_PROGRAMS (their .bpf.c files) and
# TELLTALE_LOCAL_DEFINITIONS (how much room sketch/layout.h makes for them; for all that includes it). Makes
# generated/telltale_local_vitals.h, their numbers for the kernel programs.
set(TELLTALE_LOCAL_VITALS "" CACHE PATH "Directory with vitals of your own (agent/sensor/NEW_VITAL.md)")

set(TELLTALE_LOCAL_TABLE ${CMAKE_BINARY_DIR}/generated/telltale_local_vitals.cc)
set(TELLTALE_LOCAL_PROGRAMS "")
set(TELLTALE_LOCAL_DEFINITIONS "")
set(local_units nanoseconds bytes pages calls signals misses segments)
set(local_kinds number signed ip stack_pointer pid syscall device gfp signal port protocol bytes nanoseconds errno hex
    sector order priority)
# The kernel side keeps one bit a sub-series (telltale_cpu::touched), 44 of 64 are Telltale's.
set(local_subs_limit 20)

# local_refuse(FILE WHAT REMEDY): ends the configuration with one line.
function(local_refuse file what remedy)
  message(FATAL_ERROR "local vital ${file}: ${what}; ${remedy} (agent/sensor/NEW_VITAL.md)")
endfunction()

# local_fields(FILE KEY TEXT LIMIT OUT): "reason=number place=ip" as C++ rows; OUT_count: how many.
function(local_fields file key text limit out)
  separate_arguments(fields UNIX_COMMAND "${text}")
  list(LENGTH fields count)
  if(count GREATER limit)
    local_refuse(${file} "${key} has ${count} fields, limit ${limit}" "leave the least useful out")
  endif()
  set(rows "")
  foreach(field IN LISTS fields)
    if(NOT field MATCHES "^([a-z0-9_]+)=([a-z_]+)$" OR NOT CMAKE_MATCH_2 IN_LIST local_kinds)
      list(JOIN local_kinds " " kinds)
      local_refuse(${file} "${key} field '${field}' is not NAME=KIND" "kinds are: ${kinds}")
    endif()
    set(name ${CMAKE_MATCH_1})
    local_enumerator(${CMAKE_MATCH_2} kind)
    string(APPEND rows "{\"${name}\", FieldKind::${kind}}, ")
  endforeach()
  set(${out} "${rows}" PARENT_SCOPE)
  set(${out}_count ${count} PARENT_SCOPE)
endfunction()

# stack_pointer -> kStackPointer
function(local_enumerator word out)
  string(REPLACE "_" ";" parts ${word})
  set(name k)
  foreach(part IN LISTS parts)
    string(SUBSTRING ${part} 0 1 first)
    string(TOUPPER ${first} first)
    string(SUBSTRING ${part} 1 -1 rest)
    string(APPEND name ${first}${rest})
  endforeach()
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# local_read(FILE): the keys of one file as variables local_KEY.
macro(local_read file)
  foreach(key id unit quantum subs label detail about)
    set(local_${key} "")
  endforeach()
  file(STRINGS ${file} local_lines)
  foreach(line IN LISTS local_lines)
    if(line MATCHES "^[ \t]*(#.*)?$")
      continue()
    endif()
    if(NOT line MATCHES "^(id|unit|quantum|subs|label|detail|about):[ \t]*([^][;\"\\]*[^][;\"\\ \t])[ \t]*$")
      local_refuse(${file} "cannot read '${line}'"
        "a line is KEY: VALUE with a key of id unit quantum subs label detail about, without quotes and brackets")
    endif()
    set(local_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endforeach()
endmacro()

file(GLOB local_files CONFIGURE_DEPENDS ${TELLTALE_LOCAL_VITALS}/*.vital)
if(TELLTALE_LOCAL_VITALS AND NOT local_files)
  local_refuse(${TELLTALE_LOCAL_VITALS} "there is no *.vital in this directory" "name another, or none")
endif()

# The table is in id order.
set(local_by_id "")
foreach(file IN LISTS local_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  local_read(${file})
  if(NOT local_id MATCHES "^[0-9]+$" OR local_id LESS 64 OR local_id GREATER 127)
    local_refuse(${file} "id '${local_id}' is not a number from 64 to 127" "smaller ones are Telltale's")
  endif()
  string(LENGTH "${local_id}" digits)
  if(digits EQUAL 2)
    set(local_id 0${local_id})
  endif()
  if("${local_by_id}" MATCHES "(^|;)${local_id}=([^;]*)")
    local_refuse(${file} "its id is that of ${CMAKE_MATCH_2}" "give one of them another, never used before")
  endif()
  list(APPEND local_by_id ${local_id}=${file})
endforeach()
list(SORT local_by_id)

set(local_count 0)
set(local_sub_count 0)
set(local_arrays "")
set(local_rows "")
set(local_numbers "")
foreach(entry IN LISTS local_by_id)
  string(REGEX REPLACE "^[0-9]+=" "" file ${entry})
  local_read(${file})
  get_filename_component(name ${file} NAME_WE)
  get_filename_component(directory ${file} DIRECTORY)
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    local_refuse(${file} "the name '${name}' is not of a-z, 0-9 and _" "rename the file")
  endif()
  if(NOT local_unit IN_LIST local_units)
    list(JOIN local_units " " units)
    local_refuse(${file} "unit '${local_unit}' is not known" "units are: ${units}")
  endif()
  if(NOT local_quantum MATCHES "^[1-9][0-9]*$")
    local_refuse(${file} "quantum '${local_quantum}' is not a number from 1 on" "1 samples every kind of event")
  endif()
  if(NOT local_subs MATCHES "^[a-z][a-z0-9_]*( +[a-z][a-z0-9_]*)*$" OR NOT local_about)
    local_refuse(${file} "subs or about is missing" "name at least one sub-series, and say what is counted")
  endif()
  string(LENGTH "${local_about}" about_bytes)
  if(about_bytes GREATER 256)
    local_refuse(${file} "about has ${about_bytes} bytes, limit 256" "say it in one sentence")
  endif()
  if(NOT EXISTS ${directory}/${name}.bpf.c)
    local_refuse(${file} "${name}.bpf.c is not beside it" "write the program that counts it")
  endif()
  list(APPEND TELLTALE_LOCAL_PROGRAMS ${directory}/${name}.bpf.c)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${directory}/${name}.bpf.c)
  file(STRINGS ${directory}/${name}.bpf.c sections REGEX "^SEC\\(\"")
  if(NOT sections)
    local_refuse(${file} "${name}.bpf.c has no function at a hook" "begin one with SEC(\"tp_btf/TRACEPOINT\")")
  endif()
  foreach(section IN LISTS sections)
    if(NOT section MATCHES "^SEC\\(\"(tp_btf|fexit)/")
      local_refuse(${file} "${name}.bpf.c has ${section}" "hooks are tp_btf/TRACEPOINT and fexit/FUNCTION")
    endif()
  endforeach()
  local_fields(${file} label "${local_label}" 5 local_label_rows)
  local_fields(${file} detail "${local_detail}" 7 local_detail_rows)

  string(TOUPPER ${name} upper)
  string(APPEND local_numbers "  TELLTALE_${upper} = TELLTALE_BUILTIN_VITALS + ${local_count},\n"
         "  TELLTALE_SUBS_${upper} = TELLTALE_LOCAL_SUBS + ${local_sub_count},\n  TELLTALE_LABELS_${upper} = ${local_label_rows_count},\n")
  separate_arguments(subs UNIX_COMMAND "${local_subs}")
  list(LENGTH subs sub_count)
  if(sub_count GREATER 16)
    local_refuse(${file} "${sub_count} sub-series, limit 16" "put the rest into a label field")
  endif()
  set(sub_rows "")
  set(index 0)
  foreach(sub IN LISTS subs)
    string(APPEND sub_rows "{\"${sub}\"}, ")
    string(TOUPPER ${sub} sub)
    string(APPEND local_numbers "  TELLTALE_${upper}_${sub} = ${index},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND local_arrays "const std::vector<Sub> kSubs_${name} = {${sub_rows}};\n"
         "const std::vector<Field> kLabel_${name} = {${local_label_rows}};\n"
         "const std::vector<Field> kDetail_${name} = {${local_detail_rows}};\n")
  local_enumerator(${local_unit} unit)
  string(APPEND local_rows "    {${local_id}, \"${name}\", Unit::${unit}, ${local_quantum}, kSubs_${name}, kLabel_${name}, "
         "kDetail_${name}, false, \"${local_about}\"},\n")
  math(EXPR local_count "${local_count} + 1")
  math(EXPR local_sub_count "${local_sub_count} + ${index}")
endforeach()

if(local_sub_count GREATER local_subs_limit)
  local_refuse(${TELLTALE_LOCAL_VITALS} "${local_sub_count} sub-series in all, limit ${local_subs_limit}" "have fewer")
endif()
if(local_count GREATER 0)
  set(TELLTALE_LOCAL_DEFINITIONS TELLTALE_LOCAL_VITAL_COUNT=${local_count} TELLTALE_LOCAL_SUB_COUNT=${local_sub_count})
  message(STATUS "Vitals of your own: ${local_count}, from ${TELLTALE_LOCAL_VITALS}")
endif()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/telltale_local_vitals.h @ONLY CONTENT
"/* Made by cmake/LocalVitals.cmake; do not edit. Numbers of the site's vitals inside the kernel programs. */
#include \"sketch/layout.h\"

enum telltale_local_vital {
@local_numbers@  TELLTALE_NO_MORE_LOCAL_VITALS
};
")
file(CONFIGURE OUTPUT ${TELLTALE_LOCAL_TABLE} @ONLY CONTENT
"// Made by cmake/LocalVitals.cmake; do not edit.
#include \"agent/vitals/vitals.h\"

#include <vector>

#include \"telltale_local_vitals.h\"

namespace telltale::agent {
namespace {
using namespace sketch;
@local_arrays@const std::vector<Vital> kLocal = {
@local_rows@};
}  // namespace

std::span<const sketch::Vital> LocalVitals() { return kLocal; }
}  // namespace telltale::agent
")
