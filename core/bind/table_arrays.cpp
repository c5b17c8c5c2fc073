#include "bind/table_arrays.hpp"
#include "bind/arrays.hpp"
#include "constraints/library.hpp"
#include "joints/registry.hpp"
#include "model/schema.hpp"
#include <cstring>
#include <string>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

// the dtype of a row, with its fields at their offsets
template <class S> nb::object dtype_of(const nb::object &numpy) {
  if constexpr (std::is_same_v<S, double>) {
    return numpy.attr("dtype")("f8");
  } else if constexpr (std::is_same_v<S, std::int32_t>) {
    return numpy.attr("dtype")("i4");
  } else {
    nb::list names, formats, offsets;
    for (const Field &f : fields<S>()) {
      const char *type = f.type == 'd' ? "f8" : f.type == 'i' ? "i4" : "i8";
      names.append(f.name);
      if (f.count == 1)
        formats.append(type);
      else
        formats.append(nb::make_tuple(type, f.count));
      offsets.append(f.offset);
    }
    nb::dict layout;
    layout["names"] = names, layout["formats"] = formats, layout["offsets"] = offsets, layout["itemsize"] = sizeof(S);
    return numpy.attr("dtype")(layout);
  }
}

} // namespace

void fill_tables(Tables &tables, const nb::dict &arrays) {
  const nb::object numpy = nb::module_::import_("numpy");
  std::size_t known = 0;
  for_each_table(tables, [&](const char *name, auto &rows) {
    using S = typename std::remove_reference_t<decltype(rows)>::value_type;
    if (!arrays.contains(name))
      return;
    ++known;
    const nb::object array = numpy.attr("ascontiguousarray")(arrays[name]);
    if (!nb::cast<bool>(array.attr("dtype").attr("__eq__")(dtype_of<S>(numpy))))
      throw nb::type_error((std::string("the rows of '") + name + "' have another layout").c_str());
    auto *from = reinterpret_cast<PyArrayObject *>(array.ptr());
    rows.resize(std::size_t(PyArray_SIZE(from)));
    if (!rows.empty())
      std::memcpy(static_cast<void *>(rows.data()), PyArray_DATA(from), rows.size() * sizeof(S));
  });
  if (known != nb::len(arrays))
    throw nb::key_error("there is a table that no model has");
}

void add_schema(nb::module_ &module) {
  const nb::object numpy = nb::module_::import_("numpy");
  Tables sample;
  nb::dict tables, numbers;
  for_each_table(sample, [&](const char *name, auto &rows) {
    using S = typename std::remove_reference_t<decltype(rows)>::value_type;
    tables[name] = dtype_of<S>(numpy);
  });
  for (const Enumeration &each : enumerations()) {
    nb::dict names;
    for (const Name &n : each.names)
      names[n.name] = n.number;
    numbers[each.name] = names;
  }
  nb::dict joints, constraints;
  DALEMBERT_ISA::JointLibrary::for_each([&](auto joint, int number) {
    using H = decltype(joint);
    bool reversed = false, both = true;
    if constexpr (requires { H::reversed; })
      reversed = H::reversed, both = false;
    if (both || !reversed)
      joints[nb::make_tuple(H::name, false)] = number;
    if (both || reversed)
      joints[nb::make_tuple(H::name, true)] = number;
  });
  DALEMBERT_ISA::ConstraintLibrary::for_each(
      [&](auto constraint, int number) { constraints[decltype(constraint)::name] = number; });
  module.attr("tables") = tables;
  module.attr("enumerations") = numbers;
  module.attr("joints") = joints;
  module.attr("constraints") = constraints;
}

} // namespace dalembert::bind
