telltale_test(enroll_test LABEL unit tsan SOURCES unit/enroll_test.cc
  LINK telltale::enroll telltale::agent_enroll telltale::pki OpenSSL::Crypto)
telltale_test(identity_files_test LABEL unit SOURCES unit/identity_files_test.cc
  LINK telltale::agent_enroll telltale::pki)
