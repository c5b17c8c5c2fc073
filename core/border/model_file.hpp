// Model files (.dalm): everything that a run of a model needs, in named tables.
//
// Little-endian, without gaps:
//
//     "DALM", three zero bytes, format (1 byte)
//     sum of all that follows: FNV-1a, 64 bits
//     number of tables (u32); of each table:
//       name: length (u16), characters
//       fields: number (u16); of each: name (u16, characters), type (d i q: 8, 4, 8 bytes; b: bytes), count (u32),
//       offset in the row (u32)
//       bytes of a row (u32), number of rows (u64), the rows
//
// Tables of the model have the names and fields of model/schema.hpp and are read field by field: a field that is unknown
// here makes the file one of a later version, one that is missing keeps its default. Tables whose names begin with a dot
// are those of border/file_rows.hpp. Tables of plain numbers have one field without a name.
#pragma once

#include "border/file_rows.hpp"
#include "model/tables.hpp"
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dalembert::border {

inline constexpr unsigned char file_format = 1;
inline constexpr int kind_count = 7; // dal_kind

struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct VersionError : FileError {
  using FileError::FileError;
};

// FNV-1a
std::uint64_t checksum(const void *bytes, std::size_t size);

struct ModelFile {
  std::uint64_t sum = 0;
  Tables tables;
  SettingsRow settings;
  std::vector<double> q, v, x, atol, breaks;
  std::vector<NameRow> names[kind_count]; // by kind, in order
  std::string text;                       // zero-terminated texts
  std::vector<SourceRow> sources;
  std::vector<TermRow> terms;
  std::vector<double> frames;
  std::vector<FrictionRow> friction_rows;
  std::vector<RowSwitch> friction_switches;
  FrictionSettingsRow friction;

  const char *text_at(std::int32_t place) const { return text.c_str() + place; }
};

// Throws FileError, and VersionError where the file has what is unknown here. References between tables of the model are
// checked by `complete`, those of the file itself by `check_references`.
void read_model_file(const void *bytes, std::size_t size, ModelFile &file);
void check_references(const ModelFile &file, const ModelData &m);

} // namespace dalembert::border
