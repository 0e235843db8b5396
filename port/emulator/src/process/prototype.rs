//! Prototypes of device functions: what arguments they take, by the debug information (DWARF) of
//! the device part.

use gimli::{AttributeValue, EndianSlice, LittleEndian, UnitOffset, constants as c};
use object::{Object, ObjectSection};

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
type Unit<'a> = gimli::Unit<Slice<'a>>;
type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// Deepest nesting of types.
const DEPTH: u32 = 64;
/// Longest argument, in bytes.
const MOST: u64 = 1 << 16;

/// How a part of eight bytes travels (System V ABI for x86-64, 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Integer,
    Sse,
    /// Padding, which does not travel.
    Padding,
}

/// What an argument of 8 bytes or fewer is, whose register the caller may have widened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Signed,
    Unsigned,
    Float,
    /// Not a number by itself: a structure, or more than 8 bytes.
    No,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) bytes: u64,
    pub(crate) align: u64,
    pub(crate) scalar: Scalar,
    /// Of each eight bytes; none for an argument that travels in memory.
    pub(crate) classes: Vec<Class>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prototype {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Option<Parameter>,
}

/// A number within a type.
struct Field {
    offset: u64,
    bytes: u64,
    /// None for numbers that only travel in memory (`long double`).
    class: Option<Class>,
    is_aligned: bool,
}

struct Types<'a> {
    unit: &'a Unit<'a>,
}

impl Prototype {
    /// The prototype of the function at `address` of the file.
    ///
    /// # Errors
    ///
    /// Says why it is not known or takes what calls do not pass.
    pub(crate) fn find(file: &[u8], address: u64) -> Result<Self, String> {
        let object = object::File::parse(file).map_err(|error| error.to_string())?;
        let section = |id: gimli::SectionId| -> Result<Slice<'_>, String> {
            let found = object.section_by_name(id.name());
            let data = found.map(|found| found.data()).transpose();
            let data = data.map_err(|error| error.to_string())?;
            Ok(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
        };
        let dwarf = Dwarf::load(section)?;
        find_in(&dwarf, address)
            .map_err(|error| error.to_string())?
            .unwrap_or_else(|| Err("the device part has no debug information of it (-g)".into()))
    }
}

/// The function in the unit that has it.
fn find_in(
    dwarf: &Dwarf<'_>,
    address: u64,
) -> Result<Option<Result<Prototype, String>>, gimli::Error> {
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != c::DW_TAG_subprogram {
                continue;
            }
            let Some(low) = entry.attr_value(c::DW_AT_low_pc) else {
                continue;
            };
            if dwarf.attr_address(&unit, low)? == Some(address) {
                let types = Types { unit: &unit };
                return Ok(Some(types.prototype(entry.offset())));
            }
        }
    }
    Ok(None)
}

fn number(value: Option<AttributeValue<Slice<'_>>>) -> Option<u64> {
    value.and_then(|value| value.udata_value())
}

impl Types<'_> {
    fn entry(&self, offset: UnitOffset) -> Result<Entry<'_>, String> {
        self.unit.entry(offset).map_err(|error| error.to_string())
    }

    /// The entry's attribute, or that of the entry that it completes.
    fn attribute(&self, entry: &Entry<'_>, name: gimli::DwAt) -> Option<AttributeValue<Slice<'_>>> {
        if let Some(found) = entry.attr_value(name) {
            return Some(match found {
                // The same value, for the lifetime of the unit.
                AttributeValue::UnitRef(offset) => AttributeValue::UnitRef(offset),
                other => AttributeValue::Udata(other.udata_value()?),
            });
        }
        for link in [c::DW_AT_abstract_origin, c::DW_AT_specification] {
            if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(link) {
                let origin = self.entry(offset).ok()?;
                let found = origin.attr_value(name)?;
                return Some(match found {
                    AttributeValue::UnitRef(offset) => AttributeValue::UnitRef(offset),
                    other => AttributeValue::Udata(other.udata_value()?),
                });
            }
        }
        None
    }

    fn type_of(&self, entry: &Entry<'_>) -> Result<Option<UnitOffset>, String> {
        match self.attribute(entry, c::DW_AT_type) {
            None => Ok(None),
            Some(AttributeValue::UnitRef(offset)) => Ok(Some(offset)),
            Some(_) => Err("its types are described in another unit".into()),
        }
    }

    fn children(&self, of: UnitOffset) -> Result<Vec<UnitOffset>, String> {
        let error = |error: gimli::Error| error.to_string();
        let mut tree = self.unit.entries_tree(Some(of)).map_err(error)?;
        let mut children = tree.root().map_err(error)?.children();
        let mut found = Vec::new();
        while let Some(child) = children.next().map_err(error)? {
            found.push(child.entry().offset());
        }
        Ok(found)
    }

    fn prototype(&self, function: UnitOffset) -> Result<Prototype, String> {
        let mut parameters = Vec::new();
        for child in self.children(function)? {
            let entry = self.entry(child)?;
            match entry.tag() {
                c::DW_TAG_formal_parameter => {
                    let of = self.type_of(&entry)?.ok_or("a parameter has no type")?;
                    parameters.extend(self.parameter(of)?);
                }
                c::DW_TAG_unspecified_parameters => {
                    return Err("it takes a variable number of arguments".into());
                }
                _ => {}
            }
        }
        let result = match self.type_of(&self.entry(function)?)? {
            Some(of) => self.parameter(of)?,
            None => None,
        };
        let is_integer = |of: &Parameter| matches!(of.scalar, Scalar::Signed | Scalar::Unsigned);
        if !result.as_ref().is_none_or(is_integer) {
            return Err("its result is no integer of up to 64 bits".into());
        }
        Ok(Prototype { parameters, result })
    }

    /// A parameter of this type. None for an empty structure, which does not travel.
    fn parameter(&self, of: UnitOffset) -> Result<Option<Parameter>, String> {
        let of = self.bare(of)?;
        let bytes = self.bytes(of, DEPTH)?;
        if bytes == 0 {
            return Ok(None);
        }
        if bytes > MOST {
            return Err(format!("an argument has {bytes} bytes"));
        }
        let mut fields = Vec::new();
        self.fields(of, 0, DEPTH, &mut fields)?;
        Ok(Some(Parameter {
            bytes,
            align: self.align(of, DEPTH)?,
            scalar: self.scalar(of)?,
            classes: classes(bytes, &fields),
        }))
    }

    /// The type without names and qualifiers.
    fn bare(&self, mut of: UnitOffset) -> Result<UnitOffset, String> {
        for _ in 0..DEPTH {
            let entry = self.entry(of)?;
            match entry.tag() {
                c::DW_TAG_typedef
                | c::DW_TAG_const_type
                | c::DW_TAG_volatile_type
                | c::DW_TAG_restrict_type
                | c::DW_TAG_atomic_type => {
                    of = self.type_of(&entry)?.ok_or("an argument of type void")?;
                }
                _ => return Ok(of),
            }
        }
        Err("its types are nested too deeply".into())
    }

    fn bytes(&self, of: UnitOffset, depth: u32) -> Result<u64, String> {
        let depth = depth
            .checked_sub(1)
            .ok_or("its types are nested too deeply")?;
        let of = self.bare(of)?;
        let entry = self.entry(of)?;
        if let Some(bytes) = number(entry.attr_value(c::DW_AT_byte_size)) {
            return Ok(bytes);
        }
        match entry.tag() {
            c::DW_TAG_pointer_type => Ok(8),
            c::DW_TAG_array_type => {
                let element = self.type_of(&entry)?.ok_or("an array of nothing")?;
                Ok(self.bytes(element, depth)? * self.elements(of)?)
            }
            _ => Err("the size of an argument is not known".into()),
        }
    }

    /// Elements of an array, of all its dimensions.
    fn elements(&self, of: UnitOffset) -> Result<u64, String> {
        let mut elements = 1;
        for child in self.children(of)? {
            let entry = self.entry(child)?;
            if entry.tag() == c::DW_TAG_subrange_type {
                let count = number(entry.attr_value(c::DW_AT_count));
                let last = number(entry.attr_value(c::DW_AT_upper_bound));
                let count = count.or(last.map(|last| last.wrapping_add(1))).unwrap_or(0);
                elements *= count.min(MOST);
            }
        }
        Ok(elements)
    }

    fn align(&self, of: UnitOffset, depth: u32) -> Result<u64, String> {
        let depth = depth
            .checked_sub(1)
            .ok_or("its types are nested too deeply")?;
        let of = self.bare(of)?;
        let entry = self.entry(of)?;
        if let Some(align) = number(entry.attr_value(c::DW_AT_alignment)) {
            return Ok(align.clamp(1, 64));
        }
        match entry.tag() {
            c::DW_TAG_structure_type | c::DW_TAG_union_type | c::DW_TAG_class_type => {
                let mut most = 1;
                for child in self.children(of)? {
                    let member = self.entry(child)?;
                    if member.tag() == c::DW_TAG_member {
                        let own = number(member.attr_value(c::DW_AT_alignment)).unwrap_or(1);
                        let of = self.type_of(&member)?.ok_or("a member has no type")?;
                        most = most.max(own).max(self.align(of, depth)?);
                    }
                }
                Ok(most)
            }
            c::DW_TAG_array_type => {
                let element = self.type_of(&entry)?.ok_or("an array of nothing")?;
                self.align(element, depth)
            }
            _ => Ok(self.bytes(of, depth)?.next_power_of_two().clamp(1, 16)),
        }
    }

    fn scalar(&self, of: UnitOffset) -> Result<Scalar, String> {
        let entry = self.entry(of)?;
        if self.bytes(of, DEPTH)? > 8 {
            return Ok(Scalar::No);
        }
        let encoding = match entry.attr_value(c::DW_AT_encoding) {
            Some(AttributeValue::Encoding(encoding)) => Some(encoding),
            _ => None,
        };
        Ok(match (entry.tag(), encoding) {
            (c::DW_TAG_pointer_type, _) => Scalar::Unsigned,
            // An enumeration is signed if it has a constant below zero; its caller widens an int.
            (c::DW_TAG_enumeration_type, _) => Scalar::Signed,
            (_, Some(c::DW_ATE_signed | c::DW_ATE_signed_char)) => Scalar::Signed,
            (_, Some(c::DW_ATE_float)) => Scalar::Float,
            (c::DW_TAG_base_type, _) => Scalar::Unsigned,
            _ => Scalar::No,
        })
    }

    /// All numbers in a type that begins at `offset`.
    fn fields(
        &self,
        of: UnitOffset,
        offset: u64,
        depth: u32,
        found: &mut Vec<Field>,
    ) -> Result<(), String> {
        let depth = depth
            .checked_sub(1)
            .ok_or("its types are nested too deeply")?;
        let of = self.bare(of)?;
        let entry = self.entry(of)?;
        match entry.tag() {
            c::DW_TAG_structure_type | c::DW_TAG_union_type | c::DW_TAG_class_type => {
                for child in self.children(of)? {
                    let member = self.entry(child)?;
                    if member.tag() == c::DW_TAG_member {
                        self.member(&member, offset, depth, found)?;
                    }
                }
                Ok(())
            }
            c::DW_TAG_array_type => {
                if entry.attr_value(c::DW_AT_GNU_vector).is_some() {
                    return Err("it takes a vector".into());
                }
                let element = self.type_of(&entry)?.ok_or("an array of nothing")?;
                let bytes = self.bytes(element, depth)?;
                // More than this is in memory anyway.
                for at in 0..self.elements(of)?.min(17) {
                    self.fields(element, offset + at * bytes, depth, found)?;
                }
                Ok(())
            }
            c::DW_TAG_base_type | c::DW_TAG_pointer_type | c::DW_TAG_enumeration_type => {
                let bytes = self.bytes(of, depth)?;
                let encoding = match entry.attr_value(c::DW_AT_encoding) {
                    Some(AttributeValue::Encoding(encoding)) => Some(encoding),
                    _ => None,
                };
                let class = match (encoding, bytes) {
                    (Some(c::DW_ATE_float), ..=8) => Some(Class::Sse),
                    (Some(c::DW_ATE_float), _) => None,
                    (Some(c::DW_ATE_complex_float), _) => {
                        return Err("it takes a complex number".into());
                    }
                    _ => Some(Class::Integer),
                };
                let is_aligned = offset.is_multiple_of(bytes.max(1));
                found.push(Field {
                    offset,
                    bytes,
                    class,
                    is_aligned,
                });
                Ok(())
            }
            other => Err(format!("it takes an argument of kind {other}")),
        }
    }

    fn member(
        &self,
        member: &Entry<'_>,
        offset: u64,
        depth: u32,
        found: &mut Vec<Field>,
    ) -> Result<(), String> {
        let of = self.type_of(member)?.ok_or("a member has no type")?;
        if let Some(bits) = number(member.attr_value(c::DW_AT_bit_size)) {
            let first = number(member.attr_value(c::DW_AT_data_bit_offset));
            let first = first.ok_or("the place of a bit field is not known")?;
            let (begin, end) = (first / 8, (first + bits).div_ceil(8));
            found.push(Field {
                offset: offset + begin,
                bytes: end - begin,
                class: Some(Class::Integer),
                is_aligned: true,
            });
            return Ok(());
        }
        let at = number(member.attr_value(c::DW_AT_data_member_location)).unwrap_or(0);
        self.fields(of, offset + at, depth, found)
    }
}

/// The class of each eight bytes. None if the whole travels in memory.
fn classes(bytes: u64, fields: &[Field]) -> Vec<Class> {
    if bytes > 16 {
        return Vec::new();
    }
    let mut classes = vec![Class::Padding; bytes.div_ceil(8) as usize];
    for field in fields.iter().filter(|field| field.bytes > 0) {
        let (Some(class), true) = (field.class, field.is_aligned) else {
            return Vec::new();
        };
        let last = (field.offset + field.bytes - 1) / 8;
        for at in field.offset / 8..=last {
            if let Some(known) = classes.get_mut(at as usize)
                && *known != Class::Integer
            {
                *known = class;
            }
        }
    }
    classes
}
