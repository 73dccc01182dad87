/* Filters that do what a filter must not, and one that does not: built once per WHAT_*. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "telltale_filter.h"

#ifndef NAME
#error "NAME: what it is called"
#endif
#ifndef ABI
#define ABI TELLTALE_FILTER_ABI
#endif

struct instance {
  const struct telltale_filter_host* host;
  uint64_t epochs;
};

static void* create(const struct telltale_filter_host* host,
                    const struct telltale_filter_option* options, uint32_t option_count) {
  struct instance* const made = calloc(1, sizeof *made);
  (void)options;
  (void)option_count;
  if (made != NULL) made->host = host;
  return made;
}

static void mark(const struct instance* self, const struct telltale_filter_epoch* shown,
                 const char* vital, uint64_t start_ns) {
  struct telltale_filter_mark made = {0};
  made.struct_size = sizeof made;
  made.vital = vital;
  made.sub = "";
  made.start_ns = start_ns;
  made.end_ns = shown->end_ns;
  made.text = "trial";
  self->host->mark(self->host->context, &made);
}

static void say(const struct instance* self, const struct telltale_filter_epoch* shown,
                const char* subject, uint64_t start_ns) {
  struct telltale_filter_anomaly made = {0};
  made.struct_size = sizeof made;
  made.vital = "cpu";
  made.sub = "";
  made.start_ns = start_ns;
  made.end_ns = shown->end_ns;
  made.value = 2;
  made.expected = 1;
  made.deviation = 0.1;
  made.severity = 10;
  made.learned_epochs = self->epochs;
  made.text = "a trial \x1b[2J";
#if defined(WHAT_HOLD)
  made.open = 1;
#endif
  made.subject = subject;
  const struct telltale_filter_fact facts[] = {
      {.struct_size = sizeof facts[0], .name = "epochs", .value = 2.5, .unit = "1"},
      {.struct_size = sizeof facts[0], .name = "who", .text = "a trial \x1b[2J"}};
  made.facts = facts;
  made.fact_count = 2;
  self->host->anomaly(self->host->context, &made);
}

static int epoch(void* instance, const struct telltale_filter_epoch* shown) {
  struct instance* const self = instance;
  ++self->epochs;
  mark(self, shown, "cpu", shown->start_ns);
#if defined(WHAT_CRASH)
  fputs("trial: about to fall", stderr);
  abort();
#elif defined(WHAT_HANG)
  for (volatile uint64_t i = 0;; ++i) {
  }
#elif defined(WHAT_SLEEP)
  sleep(1000);
#elif defined(WHAT_FLOOD)
  for (int i = 0; i < 100000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "v%d", i);
    mark(self, shown, name, shown->start_ns);
  }
#elif defined(WHAT_EAT)
  /* At most 1 GiB, should nobody stop it; of each part a page, so that it does not run out of time
   * before. */
  for (int i = 0; i < 1024; ++i) *(volatile char*)malloc(1 << 20) = 1;
#elif defined(WHAT_BABBLE)
  for (;;) fputs("trial: and so on, ", stderr);
#elif defined(WHAT_ESCAPE)
  /* What it must not reach: the network, another program, a file. 7: it could do none. */
  int held = 0;
  held += socket(AF_INET, SOCK_STREAM, 0) < 0 ? 1 : 0;
  held += fork() < 0 ? 2 : 0;
  held += fopen("/etc/passwd", "r") == NULL ? 4 : 0;
  if (held != 7) return held + 100;
  say(self, shown, "held", shown->start_ns);
#elif defined(WHAT_STRAY)
  say(self, shown, "before all", 1);
  say(self, shown, "after it", shown->end_ns + 1);
  mark(self, shown, "disk", 1);
  say(self, shown, "in it", shown->start_ns);
#elif defined(WHAT_HOLD)
  /* Begins with its first epoch and goes on. */
  if (self->epochs == 1) say(self, shown, "a program", shown->start_ns);
#else
  if (self->epochs % 10 == 0) say(self, shown, self->host->machine, shown->start_ns);
#endif
  return 0;
}

static void destroy(void* instance) { free(instance); }

static size_t save(void* instance, void* bytes, size_t capacity) {
  const struct instance* const self = instance;
  if (capacity >= sizeof self->epochs) memcpy(bytes, &self->epochs, sizeof self->epochs);
  return sizeof self->epochs;
}

static int load(void* instance, const void* bytes, size_t size) {
  struct instance* const self = instance;
  if (size != sizeof self->epochs) return 1;
  memcpy(&self->epochs, bytes, size);
  return 0;
}

static const struct telltale_filter kFilter = {
    .struct_size = sizeof(struct telltale_filter),
    .abi = ABI,
    .name = NAME,
    .version = 1,
    .needs = TELLTALE_NEEDS_TOTALS,
    .about = "is on trial",
    .create = create,
    .epoch = epoch,
    .destroy = destroy,
    .save = save,
    .load = load,
};

const struct telltale_filter* telltale_filter_entry(void);
const struct telltale_filter* telltale_filter_entry(void) { return &kFilter; }
