add_library(telltale_agent_rig STATIC ${CMAKE_CURRENT_LIST_DIR}/../support/agent_process.cc)
target_link_libraries(telltale_agent_rig PUBLIC telltale_collector_rig telltale::agent_supervise
  telltale::warnings)
target_compile_definitions(telltale_agent_rig PRIVATE
  TELLTALE_AGENT_PROGRAM="$<TARGET_FILE:telltale-agent>")
add_dependencies(telltale_agent_rig telltale-agent)

telltale_test(agent_kill_test LABEL integration TIMEOUT 300
  SOURCES integration/agent_kill_test.cc support/spool_witness.cc
  LINK telltale_agent_rig telltale::storage)
telltale_test(agent_disk_test LABEL integration TIMEOUT 300
  SOURCES integration/agent_disk_test.cc LINK telltale_agent_rig telltale::agent_spool telltale::storage)
telltale_test(agent_privileges_test LABEL integration TIMEOUT 300
  SOURCES integration/agent_privileges_test.cc LINK telltale_agent_rig telltale::agent_supervise)
telltale_test(starvation_guard_test LABEL integration
  SOURCES integration/starvation_guard_test.cc LINK telltale::agent_supervise)
telltale_test(agent_tls_test LABEL integration TIMEOUT 300
  SOURCES integration/agent_tls_test.cc LINK telltale_agent_rig)
telltale_test(agent_reload_test LABEL integration TIMEOUT 300
  SOURCES integration/agent_reload_test.cc LINK telltale_agent_rig telltale::storage)
telltale_test(enrolment_test LABEL integration TIMEOUT 300
  SOURCES integration/enrolment_test.cc support/https_client.cc
  LINK telltale_agent_rig telltale::agent_enroll OpenSSL::SSL)
telltale_test(clone_decision_test LABEL integration TIMEOUT 300
  SOURCES integration/clone_decision_test.cc LINK telltale_agent_rig)
telltale_test(stalled_files_test LABEL integration
  SOURCES integration/stalled_files_test.cc support/program.cc support/stalling_files.cc
  LINK telltale::agent_unwind telltale::agent_symbols)
telltale_test(service_manager_test LABEL integration TIMEOUT 300
  SOURCES integration/service_manager_test.cc LINK telltale_agent_rig)
