foreach(part cells epoch histogram label_merge log_sample miss_control miss_curve votes)
  telltale_test(sketch_${part}_test LABEL unit
    SOURCES unit/sketch_${part}_test.cc LINK telltale::sketch)
endforeach()
