#include "collector/data_directory.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace telltale::collector {

absl::Status MakeDataDirectory(const std::string& data) {
  std::error_code error;
  std::filesystem::create_directories(data, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("data: directory ", data,
                                                      " cannot be made: ", error.message(),
                                                      "; choose another with data"));
  }
  return absl::OkStatus();
}

absl::Status WritePorts(const std::string& data, uint16_t grpc_port, uint16_t https_port,
                        uint16_t enroll_port) {
  const std::string file = data + "/ports";
  const std::string temporary = file + ".new";
  {
    std::ofstream stream(temporary, std::ios::trunc);
    stream << "grpc=" << grpc_port << "\nhttps=" << https_port << "\n";
    if (enroll_port != 0) stream << "enroll=" << enroll_port << "\n";
    stream.flush();
    if (!stream) {
      return absl::UnavailableError(
          absl::StrCat("data: ", temporary, " cannot be written: ", std::strerror(errno)));
    }
  }
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("data: ", file, " cannot be written: ", error.message()));
  }
  return absl::OkStatus();
}

}  // namespace telltale::collector
