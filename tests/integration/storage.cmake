telltale_test(storage_kill_test LABEL integration
  SOURCES integration/storage_kill_test.cc
  LINK telltale::storage telltale_synthetic telltale_store_check)
telltale_test(storage_day_test LABEL integration TIMEOUT 1500
  SOURCES integration/storage_day_test.cc LINK telltale_rollup_trial)
