/* An example of a filter: says when the CPUs of a node were nearly all taken for three epochs in a
 * row. Copy it, give it another name, and put your own question where this one stands: in
 * crowded_epoch(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <telltale/telltale_filter.h>

#define TAKEN 0.9 /* of all CPUs, unless the option `taken` is another share */
#define IN_A_ROW 3

/* What one instance, so one node, remembers. Saved as it is: no pointers in it. */
struct memory {
  uint64_t since_ns; /* start of the first crowded epoch of this row */
  uint64_t until_ns; /* end of the last one */
  uint64_t row;      /* crowded epochs up to now */
  uint64_t epochs;   /* seen in all */
  double rate;       /* in the last crowded one */
};
struct instance {
  const struct telltale_filter_host* host;
  double taken;
  struct memory memory;
};

static void* crowded_create(const struct telltale_filter_host* host,
                            const struct telltale_filter_option* options, uint32_t option_count) {
  struct instance* self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->host = host;
  self->taken = TAKEN;
  for (uint32_t i = 0; i < option_count; ++i) {
    if (strcmp(options[i].name, "taken") == 0) self->taken = options[i].value;
  }
  return self;
}

static void crowded_destroy(void* instance) { free(instance); }

/* Seconds of CPU time per second, of all sub-series. */
static double cpu_rate(const struct telltale_filter_epoch* epoch) {
  double ns = 0;
  for (uint32_t v = 0; v < epoch->vital_count; ++v) {
    const struct telltale_filter_vital* vital =
        TELLTALE_FILTER_AT(struct telltale_filter_vital, epoch->vitals, v);
    if (vital->watched_ns == 0) continue;
    for (uint32_t s = 0; s < vital->sub_count; ++s) {
      const struct telltale_filter_sub* sub =
          TELLTALE_FILTER_AT(struct telltale_filter_sub, vital->subs, s);
      if (!sub->idle) ns += (double)sub->weight / (double)vital->watched_ns;
    }
  }
  return ns;
}

/* What the row is by now. It counts as going on until it is said again, by the same start, that it
 * does not. */
static void say(const struct instance* self, double cpus, int goes_on) {
  const struct memory* memory = &self->memory;
  struct telltale_filter_anomaly found;
  char text[160], evidence[160];
  snprintf(text, sizeof text, "cpu: %.1f of %.0f CPUs taken, for %u epochs%s", memory->rate, cpus,
           (unsigned)memory->row, goes_on ? " by now" : "");
  snprintf(evidence, sizeof evidence,
           "%.0f %% of the CPUs in the last one; %.0f %% in %d in a row are crowded",
           100 * memory->rate / cpus, 100 * self->taken, IN_A_ROW);
  memset(&found, 0, sizeof found);
  found.struct_size = sizeof found;
  found.open = goes_on ? 1 : 0;
  found.vital = "cpu";
  found.sub = "";
  found.start_ns = memory->since_ns;
  found.end_ns = memory->until_ns;
  found.value = memory->rate;
  found.expected = self->taken * cpus;
  found.deviation = 0.05 * cpus;
  found.severity = (found.value - found.expected) / found.deviation;
  found.learned_epochs = memory->epochs;
  found.text = text;
  found.evidence = evidence;
  found.against = "a node that is paid to compute is meant to be like this";
  self->host->anomaly(self->host->context, &found);
}

static int crowded_epoch(void* instance, const struct telltale_filter_epoch* epoch) {
  struct instance* self = instance;
  struct memory* memory = &self->memory;
  double rate;
  ++memory->epochs;
  if (epoch->cpus == 0 || epoch->watched_ns == 0) return 0; /* nothing known: nothing said */
  rate = cpu_rate(epoch);
  if (rate < self->taken * epoch->cpus) {
    if (memory->row >= IN_A_ROW) say(self, epoch->cpus, 0);
    memory->row = 0;
    return 0;
  }
  if (memory->row++ == 0) memory->since_ns = epoch->start_ns;
  memory->until_ns = epoch->end_ns;
  memory->rate = rate;
  if (memory->row >= IN_A_ROW) say(self, epoch->cpus, 1);
  return 0;
}

/* After a restart the collector gives this back and shows the epochs since. */
static size_t crowded_save(void* instance, void* bytes, size_t capacity) {
  const struct instance* self = instance;
  if (capacity >= sizeof self->memory) memcpy(bytes, &self->memory, sizeof self->memory);
  return sizeof self->memory;
}

static int crowded_load(void* instance, const void* bytes, size_t size) {
  struct instance* self = instance;
  if (size != sizeof self->memory) return 1;
  memcpy(&self->memory, bytes, size);
  return 0;
}

static const char* const kVitals[] = {"cpu", NULL};

static const struct telltale_filter kCrowded = {
    .struct_size = sizeof(struct telltale_filter),
    .abi = TELLTALE_FILTER_ABI,
    .name = "crowded",
    .version = 2, /* another one whenever it would say something else of the same epochs */
    .needs = TELLTALE_NEEDS_TOTALS,
    .about = "nearly all CPUs were taken for three epochs in a row",
    .vitals = kVitals,
    .create = crowded_create,
    .epoch = crowded_epoch,
    .destroy = crowded_destroy,
    .save = crowded_save,
    .load = crowded_load,
};

__attribute__((visibility("default"))) const struct telltale_filter* telltale_filter_entry(void);
const struct telltale_filter* telltale_filter_entry(void) { return &kCrowded; }
