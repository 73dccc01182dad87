telltale_test(access_test LABEL unit tsan SOURCES unit/access_test.cc
  LINK telltale::access telltale::address_limits)
telltale_test(collector_tls_test LABEL unit SOURCES unit/collector_tls_test.cc
  LINK telltale::collector_tls OpenSSL::SSL)
telltale_test(revocation_test LABEL unit SOURCES unit/revocation_test.cc
  LINK telltale::collector_tls telltale::pki OpenSSL::SSL)
telltale_test(waiting_room_test LABEL unit SOURCES unit/waiting_room_test.cc LINK telltale::collector_tls)
telltale_test(grpc_connections_test LABEL unit tsan SOURCES unit/grpc_connections_test.cc support/pki.cc
  LINK telltale::collector_tls OpenSSL::SSL)
telltale_test(grpc_listener_test LABEL unit tsan SOURCES unit/grpc_listener_test.cc
  LINK telltale::collector_tls gRPC::grpc++ OpenSSL::SSL)
