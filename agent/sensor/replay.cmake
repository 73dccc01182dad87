# The sensor that needs no kernel, for tests and the simulator. Built everywhere, BPF or not.
set(folder ${CMAKE_CURRENT_LIST_DIR})
telltale_library(replay_sensor
  SOURCES ${folder}/replay_sensor.cc ${folder}/replay_sites.cc ${folder}/replay_world.cc
  LINK telltale::messages telltale::sketch absl::status absl::statusor
  PRIVATE_LINK PkgConfig::XXHASH absl::strings)
