if(NOT TARGET telltale_web_testing)
  telltale_library(web_testing
    SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/support/pki.cc ${CMAKE_CURRENT_SOURCE_DIR}/support/https_client.cc
    LINK OpenSSL::SSL OpenSSL::Crypto)
endif()
telltale_test(web_server_test LABEL unit SOURCES unit/web_server_test.cc LINK telltale::web telltale::web_testing)
telltale_test(web_event_stream_test LABEL unit SOURCES unit/web_event_stream_test.cc LINK telltale::web)
telltale_test(web_live_test LABEL unit SOURCES unit/web_live_test.cc LINK telltale::web)
telltale_test(web_router_test LABEL unit SOURCES unit/web_router_test.cc LINK telltale::web)
telltale_test(web_json_texts_test LABEL unit SOURCES unit/web_json_texts_test.cc LINK telltale::web)
telltale_test(web_incident_api_test LABEL unit SOURCES unit/web_incident_api_test.cc LINK telltale::web)
telltale_test(web_ui_files_test LABEL unit SOURCES unit/web_ui_files_test.cc LINK telltale::web)
telltale_test(web_request_head_test LABEL unit SOURCES unit/web_request_head_test.cc LINK telltale::web)
