// Turns records of the kernel's ring buffer into RawSample, RawEvent and task rows. Pure functions
// of the bytes given; the bytes come from our own programs, but lengths are checked all the same.

#ifndef TELLTALE_AGENT_SENSOR_RECORD_DECODER_H_
#define TELLTALE_AGENT_SENSOR_RECORD_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "agent/sensor/sensor.h"
#include "agent/sensor/user_unwinder.h"
#include "sketch/layout.h"

namespace telltale::agent {

// The record's kind, 0 if the bytes are too short for what they claim to be.
uint32_t RecordKind(const void* data, size_t size);

RawSample DecodeSample(const telltale_sample& record);
// `size`: of the whole record. The copy refers to the record's bytes.
UserCopy DecodeCopy(const telltale_copy& record, size_t size);
RawDeparture DecodeDeparture(const telltale_departure& record);
RawEvent DecodeEvent(const telltale_event& record);
ExeId DecodeExe(const telltale_exe& exe);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_RECORD_DECODER_H_
