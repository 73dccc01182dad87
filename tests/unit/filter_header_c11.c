/* A filter in plain C: marks every epoch in which a watched vital has no weight at all. */
#include "telltale_filter.h"

static struct telltale_filter_host the_host;

static void* create(const struct telltale_filter_host* host,
                    const struct telltale_filter_option* options, uint32_t option_count) {
  (void)options;
  (void)option_count;
  the_host = *host;
  return &the_host;
}

static int epoch(void* instance, const struct telltale_filter_epoch* shown) {
  const struct telltale_filter_host* host = instance;
  for (uint32_t v = 0; v < shown->vital_count; ++v) {
    const struct telltale_filter_vital* vital =
        TELLTALE_FILTER_AT(struct telltale_filter_vital, shown->vitals, v);
    uint64_t weight = 0;
    for (uint32_t s = 0; s < vital->sub_count; ++s) {
      weight += TELLTALE_FILTER_AT(struct telltale_filter_sub, vital->subs, s)->weight;
    }
    if (weight == 0 && vital->watched_ns > 0) {
      struct telltale_filter_mark mark = {0};
      mark.struct_size = sizeof mark;
      mark.vital = vital->name;
      mark.sub = "";
      mark.start_ns = shown->start_ns;
      mark.end_ns = shown->end_ns;
      mark.text = "silence";
      if (TELLTALE_FILTER_HAS(host, struct telltale_filter_host, mark))
        host->mark(host->context, &mark);
    }
  }
  return 0;
}

static void destroy(void* instance) { (void)instance; }

static const char* const kVitals[] = {"cpu", NULL};

static const struct telltale_filter kSilence = {
    .struct_size = sizeof(struct telltale_filter),
    .abi = TELLTALE_FILTER_ABI,
    .name = "silence",
    .version = 1,
    .needs = TELLTALE_NEEDS_TOTALS,
    .about = "marks epochs without CPU time",
    .vitals = kVitals,
    .create = create,
    .epoch = epoch,
    .destroy = destroy,
};

const struct telltale_filter* silence_filter(void);
const struct telltale_filter* silence_filter(void) { return &kSilence; }
