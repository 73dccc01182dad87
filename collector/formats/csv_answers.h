// Answers as CSV: a row per table row, point, bucket, sample or event.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_FORMATS_CSV_ANSWERS_H_
#define TELLTALE_COLLECTOR_FORMATS_CSV_ANSWERS_H_

#include <string>

#include "telltale/v1/access.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::formats {

std::string CsvOf(const v1::TopAnswer& answer);  // with a row "(other)" of each table, and one of
                                                 // the rows on pages before, if any
std::string CsvOf(const v1::DiffAnswer& answer);
std::string CsvOf(const v1::SeriesAnswer& answer);
std::string CsvOf(const v1::SamplesAnswer& answer);
std::string CsvOf(const v1::StacksAnswer& answer);
std::string CsvOf(const v1::HistogramAnswer& answer);
std::string CsvOf(const v1::HostLevelsAnswer& answer);
std::string CsvOf(const v1::EventsAnswer& answer);
std::string CsvOf(const v1::AnomaliesAnswer& answer);
std::string CsvOf(const v1::FilterSeriesAnswer& answer);
std::string CsvOf(const v1::ListAuditAnswer& answer);  // of what people did: it rests on no data

}  // namespace telltale::formats

#endif  // TELLTALE_COLLECTOR_FORMATS_CSV_ANSWERS_H_
