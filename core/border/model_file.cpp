#include "border/model_file.hpp"
#include "kernels/kernels.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

namespace dalembert::border {

namespace {

constexpr std::size_t header_bytes = 16;

// bytes from which numbers are taken, never beyond their end
struct Bytes {
  const unsigned char *at, *end;

  const unsigned char *take(std::uint64_t count) {
    if (count > std::uint64_t(end - at))
      throw FileError("the file ends too early");
    const unsigned char *from = at;
    at += count;
    return from;
  }
  template <class N> N number() {
    N value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string_view text() {
    const std::size_t length = number<std::uint16_t>();
    return {reinterpret_cast<const char *>(take(length)), length};
  }
};

struct FileField {
  std::string_view name;
  char type;
  std::uint32_t count, offset;
};

struct FileTable {
  std::string_view name;
  std::vector<FileField> fields;
  std::size_t row_bytes, rows;
  const unsigned char *data;
  bool known = false;
};

// for messages: what is not printable is replaced
std::string quoted(std::string_view name) {
  std::string text(name.substr(0, 64));
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + text + "'";
}

std::size_t bytes_of(char type) { return type == 'd' || type == 'q' ? 8 : type == 'i' ? 4 : type == 'b' ? 1 : 0; }

FileTable take_table(Bytes &bytes) {
  FileTable table;
  table.name = bytes.text();
  const int fields = bytes.number<std::uint16_t>();
  for (int k = 0; k < fields; ++k) {
    FileField field;
    field.name = bytes.text();
    field.type = char(bytes.number<unsigned char>());
    field.count = bytes.number<std::uint32_t>(), field.offset = bytes.number<std::uint32_t>();
    table.fields.push_back(field);
  }
  table.row_bytes = bytes.number<std::uint32_t>();
  const std::uint64_t rows = bytes.number<std::uint64_t>();
  if (!table.row_bytes || rows > std::uint64_t(bytes.end - bytes.at) / table.row_bytes)
    throw FileError("the rows of table " + quoted(table.name) + " do not fit");
  for (const FileField &field : table.fields) {
    const std::size_t size = bytes_of(field.type);
    if (!size)
      throw VersionError("table " + quoted(table.name) + " has numbers of an unknown type");
    if (field.offset > table.row_bytes || field.count > (table.row_bytes - field.offset) / size)
      throw FileError("a field of table " + quoted(table.name) + " is outside its rows");
  }
  table.rows = std::size_t(rows);
  table.data = bytes.take(rows * table.row_bytes);
  return table;
}

template <class S> void read_rows(const FileTable &table, std::vector<S> &rows) {
  if constexpr (std::is_arithmetic_v<S>) {
    constexpr char type = std::is_same_v<S, double> ? 'd' : sizeof(S) == 4 ? 'i' : 'b';
    if (table.fields.size() != 1 || table.fields[0].type != type || table.row_bytes != sizeof(S) ||
        table.fields[0].count != 1)
      throw FileError("the numbers of table " + quoted(table.name) + " are of another type");
    rows.resize(table.rows);
    if (table.rows)
      std::memcpy(rows.data(), table.data, table.rows * sizeof(S));
  } else {
    rows.assign(table.rows, S{});
    const std::vector<Field> known = fields<S>();
    for (const FileField &field : table.fields) {
      const auto own = std::find_if(known.begin(), known.end(), [&](const Field &f) { return field.name == f.name; });
      if (own == known.end())
        throw VersionError("field " + quoted(field.name) + " of table " + quoted(table.name) + " is unknown");
      if (own->type != field.type || own->count != field.count)
        throw VersionError("field " + quoted(field.name) + " of table " + quoted(table.name) + " has another form");
      for (std::size_t k = 0; k < table.rows; ++k)
        std::memcpy(reinterpret_cast<char *>(&rows[k]) + own->offset,
                    table.data + k * table.row_bytes + field.offset, own->count * bytes_of(own->type));
    }
  }
}

struct AllTables {
  std::vector<FileTable> tables;

  FileTable *find(std::string_view name) {
    for (FileTable &table : tables)
      if (table.name == name) {
        table.known = true;
        return &table;
      }
    return nullptr;
  }
  template <class S> void read(const char *name, std::vector<S> &rows) {
    if (const FileTable *table = find(name))
      read_rows(*table, rows);
  }
  template <class S> void read_one(const char *name, S &row) {
    std::vector<S> rows;
    read(name, rows);
    if (rows.size() > 1)
      throw FileError("table " + quoted(name) + " has more than one row");
    if (!rows.empty())
      row = rows[0];
  }
};

bool all_finite(const std::vector<double> &numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

void require_fit(bool fits, const char *what) {
  if (!fits)
    throw FileError(what);
}

} // namespace

std::uint64_t checksum(const void *bytes, std::size_t size) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  const unsigned char *at = static_cast<const unsigned char *>(bytes);
  for (std::size_t k = 0; k < size; ++k)
    sum = (sum ^ at[k]) * 0x100000001b3u;
  return sum;
}

void read_model_file(const void *given, std::size_t size, ModelFile &file) {
  const unsigned char *begin = static_cast<const unsigned char *>(given);
  if (!given || size < header_bytes || std::memcmp(begin, "DALM\0\0\0", 7))
    throw FileError("this is no model file");
  if (begin[7] != file_format)
    throw VersionError("the file has format " + std::to_string(begin[7]) + ", this library reads " +
                       std::to_string(file_format));
  std::memcpy(&file.sum, begin + 8, 8);
  if (checksum(begin + header_bytes, size - header_bytes) != file.sum)
    throw FileError("the file is damaged: its checksum does not fit");
  Bytes bytes{begin + header_bytes, begin + size};
  AllTables all;
  const std::uint32_t count = bytes.number<std::uint32_t>();
  for (std::uint32_t k = 0; k < count; ++k) {
    FileTable table = take_table(bytes);
    if (all.find(table.name))
      throw FileError("table " + quoted(table.name) + " is there twice");
    all.tables.push_back(std::move(table));
  }
  if (bytes.at != bytes.end)
    throw FileError("there is more after the last table");
  for (FileTable &table : all.tables)
    table.known = false;
  for_each_table(file.tables, [&](const char *name, auto &rows) { all.read(name, rows); });
  all.read_one(".settings", file.settings);
  all.read(".q", file.q), all.read(".v", file.v), all.read(".x", file.x);
  all.read(".atol", file.atol), all.read(".breaks", file.breaks);
  std::vector<unsigned char> text;
  all.read(".text", text);
  file.text.assign(text.begin(), text.end());
  std::vector<NameRow> names;
  all.read(".names", names);
  for (const NameRow &name : names) {
    require_fit(name.kind >= 0 && name.kind < kind_count, "a name is of an unknown kind");
    file.names[name.kind].push_back(name);
  }
  all.read(".sources", file.sources), all.read(".terms", file.terms), all.read(".frames", file.frames);
  all.read(".friction_rows", file.friction_rows), all.read(".friction_switches", file.friction_switches);
  all.read_one(".friction", file.friction);
  for (const FileTable &table : all.tables)
    if (!table.known)
      throw VersionError("table " + quoted(table.name) + " is unknown");
}

namespace {

void check_text(const ModelFile &file, std::int32_t place) {
  require_fit(place >= 0 && std::size_t(place) < file.text.size(), "a text is outside the texts");
}

void check_names(const ModelFile &file, const ModelData &m) {
  require_fit(!file.text.empty() && file.text.back() == '\0', "the texts have no end");
  constexpr int parameter = 3, input = 4, output = 5, event = 6; // dal_kind
  const std::size_t sizes[] = {std::size_t(m.nq), std::size_t(m.nv), std::size_t(m.nx)};
  for (int kind = 0; kind < kind_count; ++kind) {
    require_fit(kind > 2 || file.names[kind].size() == sizes[kind], "there is a name for each coordinate and state");
    for (const NameRow &name : file.names[kind]) {
      check_text(file, name.name), check_text(file, name.unit), check_text(file, name.meaning);
      require_fit(std::isfinite(name.value) && !std::isnan(name.least), "a value is not finite");
      if (kind == parameter)
        require_fit(name.place >= 0 && name.place < m.parameter_count + m.parameter_maps.count &&
                        (!(name.flags & is_tunable) || name.place < m.parameter_count),
                    "a parameter does not exist");
      if (kind == input)
        require_fit(name.place >= 0 && name.place < (name.flags & is_effort ? m.nv : m.parameter_count),
                    "an input does not exist");
      require_fit(kind != event || (name.place >= 0 && name.place < m.switching_count),
                  "a switching function does not exist");
      require_fit(kind == parameter || kind == input || kind == output || name.flags == 0, "a name has flags");
    }
  }
}

void check_friction(const ModelFile &file, const ModelData &m) {
  const std::int32_t n = std::int32_t(file.friction_rows.size());
  for (const FrictionRow &row : file.friction_rows) {
    const std::int32_t places[] = {row.place, row.coordinate, row.friction, row.mode, row.coefficient, row.load,
                                   row.group};
    const std::int32_t sizes[] = {m.nv + m.cut_nv,   m.nq + m.cut_nq, m.parameter_count, m.parameter_count,
                                  m.parameter_count, m.signal_count,  n};
    for (int k = 0; k < 7; ++k)
      require_fit(places[k] < sizes[k] && places[k] >= (k ? -1 : 0), "a row of friction does not fit the model");
    const double numbers[] = {row.sliding_friction, row.static_friction, row.static_ratio, row.restitution,
                              row.rest_tol};
    for (const double number : numbers)
      require_fit(std::isfinite(number) && number >= 0.0, "a number of friction is not finite, or below zero");
    require_fit(!std::isnan(row.lower) && !std::isnan(row.upper), "a stop is not a number");
  }
  for (const RowSwitch &each : file.friction_switches)
    require_fit(int(each.kind) >= 0 && int(each.kind) <= 2 && each.row >= 0 && each.row < n,
                "a switching function of friction does not fit");
  const FrictionSettingsRow &f = file.friction;
  for (const double number : {f.position_tol, f.span, f.weight, f.max_step, f.stuck_step})
    require_fit(number >= 0.0, "the settings of friction do not fit");
}

} // namespace

void check_references(const ModelFile &file, const ModelData &m) {
  require_fit(file.q.size() == std::size_t(m.nq) && file.v.size() == std::size_t(m.nv) &&
                  file.x.size() == std::size_t(m.nx),
              "the start does not fit the model");
  require_fit(file.atol.size() == std::size_t(2 * m.nv + m.nx) && all_finite(file.atol) &&
                  std::all_of(file.atol.begin(), file.atol.end(), [](double tol) { return tol > 0.0; }),
              "the tolerances do not fit the model");
  require_fit(all_finite(file.q) && all_finite(file.v) && all_finite(file.x), "the start is not finite");
  require_fit(all_finite(file.breaks) && std::is_sorted(file.breaks.begin(), file.breaks.end()),
              "the times of jumps are not in order");
  const SettingsRow &s = file.settings;
  require_fit(std::isfinite(s.t) && s.rtol > 0.0 && s.rtol < 1.0 && s.max_step > 0.0 && s.fixed_step >= 0.0 &&
                  std::isfinite(s.fixed_step) && s.spectral_radius >= 0.0 && s.spectral_radius <= 1.0 &&
                  !std::isnan(s.horizon) && std::isfinite(s.damping) && std::isfinite(s.stiffness),
              "the settings do not fit");
  require_fit(m.callback_law_count == 0, "a law is a function of another program");
  for (int k = 0; k < m.element_count; ++k)
    require_fit(m.elements[k].form != LawForm::function, "an element is a function of another program");
  check_names(file, m);
  check_friction(file, m);
  for (const SourceRow &source : file.sources) {
    const int kind = int(source.kind);
    require_fit(kind >= 0 && kind <= int(SourceKind::acceleration), "an output has an unknown source");
    if (source.kind == SourceKind::state)
      require_fit(source.number >= 0 && source.number < 3, "an output has an unknown source");
    else if (source.kind == SourceKind::report)
      check_text(file, source.number);
    else {
      const auto inside = [&](std::int32_t first, std::int32_t count) {
        return first >= 0 && count >= 0 && std::size_t(first) + std::size_t(count) <= file.frames.size();
      };
      require_fit(source.body >= 0 && source.body <= m.nb && inside(source.frame, 12), "a point does not fit the model");
      if (source.nodes < 0)
        continue;
      require_fit(m.bodies[source.body].form == JointForm::modal, "a point is not on a flexible body");
      const ModalData &modal = m.modal[m.bodies[source.body].modal];
      const std::int64_t n = modal.modes, needed = 3 + 6 * n + (modal.second ? 6 * n * n : 0); // place, shapes
      require_fit(source.width >= needed && inside(source.nodes, source.width), "a point does not fit the model");
    }
  }
}

} // namespace dalembert::border
