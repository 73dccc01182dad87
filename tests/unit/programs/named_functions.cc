// A library whose functions the tests of symbol tables look for: one that is exported, one that
// only a symbol table knows, and where the latter is.
namespace {

__attribute__((noinline)) int TelltaleHiddenFunction(int x) {
  asm volatile("");
  return x + 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int TelltaleExportedFunction(int x) {
  return TelltaleHiddenFunction(x) + 1;
}

extern "C" __attribute__((visibility("default"))) const void* TelltaleHiddenAddress() {
  return reinterpret_cast<const void*>(&TelltaleHiddenFunction);
}
