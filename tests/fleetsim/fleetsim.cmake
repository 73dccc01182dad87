# A fleet of simulated agents against a real collector; its numbers are re-drawn from recordings.
telltale_library(fleetsim
  SOURCES
    fleetsim/certificates.cc
    fleetsim/fleet.cc
    fleetsim/fleet_loop.cc
    fleetsim/fleet_options.cc
    fleetsim/machine.cc
    fleetsim/mischief.cc
    fleetsim/node_stream.cc
    fleetsim/recording.cc
    fleetsim/redraw.cc
    fleetsim/redraw_tables.cc
    fleetsim/redraw_weights.cc
    fleetsim/report.cc
    fleetsim/sim_node.cc
    fleetsim/tally.cc
    fleetsim/traits.cc
    fleetsim/verify.cc
  LINK telltale::agent_uplink telltale::agent_transport telltale::cli telltale::config telltale_synthetic
    absl::status absl::statusor
  PRIVATE_LINK telltale::services telltale::codec telltale::sketch absl::strings absl::str_format absl::time)
find_package(spdlog CONFIG REQUIRED)
add_executable(telltale-fleetsim fleetsim/main.cc)
target_link_libraries(telltale-fleetsim PRIVATE telltale::fleetsim telltale::command_line spdlog::spdlog
  absl::synchronization telltale::warnings)
# Thousands of agents allocate in turns: what they take of the machine they share with the collector should be little.
if(NOT TELLTALE_SANITIZE)
  pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
  target_link_libraries(telltale-fleetsim PRIVATE PkgConfig::JEMALLOC)
endif()

telltale_test(fleetsim_redraw_test LABEL unit
  SOURCES fleetsim/redraw_test.cc
  LINK telltale::fleetsim telltale::ingest telltale::storage telltale::codec telltale::sketch telltale_synthetic)
telltale_test(fleetsim_fleet_test LABEL integration
  SOURCES fleetsim/fleet_test.cc LINK telltale_collector_rig protobuf::libprotobuf)
target_compile_definitions(fleetsim_fleet_test PRIVATE
  TELLTALE_COLLECTOR_PROGRAM="$<TARGET_FILE:telltale-collector>"
  TELLTALE_FLEETSIM_PROGRAM="$<TARGET_FILE:telltale-fleetsim>"
  TELLTALE_SLOW_SYNC="$<TARGET_FILE:slow_sync>")
add_library(slow_sync MODULE fleetsim/slow_sync.cc)
add_dependencies(fleetsim_fleet_test slow_sync telltale-collector telltale-fleetsim)
