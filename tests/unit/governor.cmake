telltale_test(agent_governor_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_governor_test.cc
  LINK telltale::agent_governor)
telltale_test(agent_sample_demand_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_sample_demand_test.cc
  LINK telltale::agent_governor)
telltale_test(agent_unwind_price_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_unwind_price_test.cc
  LINK telltale::agent_governor)
telltale_test(agent_spread_cost_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_spread_cost_test.cc
  LINK telltale::agent_governor)
telltale_test(agent_windowed_cost_test LABEL unit
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_windowed_cost_test.cc
  LINK telltale::agent_governor)
if(TELLTALE_BPF)
  telltale_test(agent_record_ring_test LABEL unit
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_record_ring_test.cc
    LINK telltale::sensor)
  telltale_test(agent_duty_cycler_test LABEL unit
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/agent_duty_cycler_test.cc
    LINK telltale::sensor)
endif()
