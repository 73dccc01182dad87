// What jemalloc reads before main() (its manual, "malloc_conf"): few arenas, so that what one
// thread freed another takes, and free pages go back within a second, as a fleet's epochs come in a
// wave each minute.

extern "C" {
const char* malloc_conf = "narenas:2,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
