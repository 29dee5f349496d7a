//! Ticket types as texts: what `lua/include/types.lua` reads and writes.

use super::ladders;
use super::segments::{decoded, encoded};
use onrush_core::ids::TypeId;
use onrush_core::limits::{MAX_AMOUNT_STEP_MINOR, MAX_PRICE_MINOR, MAX_TYPE_BP};
use onrush_core::prices::Priced;
use onrush_core::types::{
    AskedTypes, HeldType, HeldTypes, TicketType, TypeList, TypePrice, TypeView,
};
use std::collections::BTreeMap;
use std::str::FromStr;

/// What fields of the meta hash begin with that hold a list.
const FIELD: &str = "types:";

/// A list of types, as the meta hash has it: `id,price,min,max,proof,name;…`.
pub(super) fn list_text(types: &[TicketType]) -> String {
    let text = |it: &TicketType| {
        let price = match it.price {
            TypePrice::PriceMinor(price_minor) => format!("p{price_minor}"),
            TypePrice::PercentBp(bp) => format!("s{bp}"),
            TypePrice::LessMinor(less_minor) => format!("l{less_minor}"),
        };
        let max = it.max.map(|max| max.to_string()).unwrap_or_default();
        let (proof, name) = (u8::from(it.proof), encoded(&it.name));
        format!("{},{price},{},{max},{proof},{name}", it.id, it.min)
    };
    types.iter().map(text).collect::<Vec<_>>().join(";")
}

/// Whether a field of the meta hash holds a list.
pub(super) fn is_field(field: &str) -> bool {
    field.starts_with(FIELD)
}

/// The field of the meta hash, and its text.
pub(super) fn field(list: &TypeList) -> (String, String) {
    (format!("{FIELD}{}", ladders::key(&list.of)), list_text(&list.types))
}

/// All lists among fields of the meta hash.
pub(super) fn lists<'a>(
    meta: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<BTreeMap<Priced, TypeList>, String> {
    let found =
        meta.into_iter().filter_map(|(field, text)| Some((field.strip_prefix(FIELD)?, text)));
    let list = |(key, text): (&str, &str)| {
        let of = ladders::of_key(key)?;
        let types = text.split(';').map(|text| ticket_type(text).ok_or_else(|| broken(key, text)));
        let list = TypeList { of: of.clone(), types: types.collect::<Result<_, _>>()? };
        Ok((of, list))
    };
    found.map(list).collect()
}

fn broken(what: &str, text: &str) -> String {
    format!("types of {what}: {text:?} cannot be read")
}

fn parts<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split(',').collect::<Vec<_>>().try_into().ok()
}

fn read<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn is_set(flag: &str) -> Option<bool> {
    match flag {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn ticket_type(text: &str) -> Option<TicketType> {
    let [id, price, min, max, proof, name] = parts(text)?;
    let amount = price.get(1..)?;
    let price = match price.get(..1)? {
        "p" => TypePrice::PriceMinor(read(amount)?),
        "s" => TypePrice::PercentBp(read(amount)?),
        "l" => TypePrice::LessMinor(read(amount)?),
        _ => return None,
    };
    let max = if max.is_empty() { None } else { Some(read(max)?) };
    let is_limited = match price {
        TypePrice::PriceMinor(minor) | TypePrice::LessMinor(minor) => is_price(minor),
        TypePrice::PercentBp(bp) => bp <= MAX_TYPE_BP,
    };
    let (name, proof) = (decoded(name)?.into(), is_set(proof)?);
    let found = TicketType { id: read(id)?, name, price, min: read(min)?, max, proof };
    is_limited.then_some(found)
}

fn is_price(minor: i64) -> bool {
    (0..=MAX_PRICE_MINOR).contains(&minor)
}

/// Each type of what costs `base_minor`, where all amounts are multiples of `step_minor`.
pub(super) fn views(
    list: &TypeList,
    base_minor: i64,
    step_minor: i64,
) -> Result<Vec<TypeView>, String> {
    if is_price(base_minor) && (1..=MAX_AMOUNT_STEP_MINOR).contains(&step_minor) {
        Ok(TypeView::all(&list.types, base_minor, step_minor))
    } else {
        Err(format!("{}: {base_minor} in steps of {step_minor} cannot be a price", list.of))
    }
}

/// The types of a hold's units: `id,price,proof,name,line:quantity,…/…;what was asked`.
pub(super) fn held_text(types: &HeldTypes) -> String {
    let text = |held: &HeldType| {
        let (proof, name) = (u8::from(held.proof), encoded(&held.name));
        let units: Vec<_> =
            held.units.iter().map(|(line, quantity)| format!("{line}:{quantity}")).collect();
        format!("{},{},{proof},{name},{}", held.id, held.price_minor, units.join(","))
    };
    let held: Vec<_> = types.held.iter().map(text).collect();
    let asked = if types.asked.is_empty() {
        String::new()
    } else {
        serde_json::to_string(&types.asked).expect("what was asked can be written")
    };
    format!("{};{asked}", held.join("/"))
}

/// The same read; `text` is of a booking's.
pub(super) fn held_types(text: &str) -> Result<HeldTypes, String> {
    let (held, asked) = text.split_once(';').ok_or_else(|| broken("a booking", text))?;
    let asked = match asked {
        "" => AskedTypes::default(),
        asked => serde_json::from_str(asked).map_err(|error| format!("types asked: {error}"))?,
    };
    let held = held.split('/').map(|text| held_type(text).ok_or_else(|| broken("a booking", text)));
    Ok(HeldTypes { asked, held: held.collect::<Result<_, _>>()? })
}

fn held_type(text: &str) -> Option<HeldType> {
    let mut parts = text.split(',');
    let id: TypeId = read(parts.next()?)?;
    let price_minor = read(parts.next()?)?;
    let proof = is_set(parts.next()?)?;
    let name = decoded(parts.next()?)?.into();
    let units = |text: &str| {
        let (line, quantity) = text.split_once(':')?;
        Some((read(line)?, read(quantity)?))
    };
    let units: Vec<_> = parts.map(units).collect::<Option<_>>()?;
    let found = HeldType { id, name, proof, price_minor, units };
    (!found.units.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::{field, held_text, held_types, lists, views};
    use onrush_core::prices::Priced;
    use onrush_core::types::{AskedTypes, HeldType, HeldTypes, TicketType, TypeList, TypePrice};

    fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
        text.parse().expect("a valid id")
    }

    #[test]
    fn lists_are_read_as_they_were_written() {
        let of = |price, min, max, proof, name: &str| TicketType {
            id: id("child"),
            name: name.into(),
            price,
            min,
            max,
            proof,
        };
        let lists_written = [
            TypeList {
                of: Priced::Category("Floor; left, 1".into()),
                types: vec![
                    of(TypePrice::PriceMinor(1_000), 0, None, false, "Kind, bis 12; ½ %"),
                    of(TypePrice::PercentBp(5_000), 2, Some(4), true, "เด็ก/어린이"),
                ],
            },
            TypeList {
                of: Priced::Pool(id("ga")),
                types: vec![of(TypePrice::LessMinor(500), 0, None, false, "x")],
            },
        ];
        let fields: Vec<_> = lists_written.iter().map(field).collect();
        let fields = fields.iter().map(|(field, text)| (field.as_str(), text.as_str()));
        let read = lists(fields).expect("they are read");
        assert_eq!(read.into_values().collect::<Vec<_>>(), lists_written);
        let unreadable =
            ["", "child,p1,0,,2,x", "child,q1,0,,0,x", "child,p1,0,,0,%F", "a b,p1,0,,0,x"];
        let beyond = ["child,p-1,0,,0,x", "child,l1000000000001,0,,0,x", "child,s10001,0,,0,x"];
        for wrong in unreadable.into_iter().chain(beyond) {
            assert!(lists([("types:p:ga", wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_a_price_is_an_error() {
        let child = ("types:p:ga", "child,s5000,0,,0,x");
        let list = lists([child]).expect("it is read").into_values().next().expect("a list");
        assert_eq!(views(&list, 1_000, 1).expect("a price")[0].price_minor, 500);
        for (base_minor, step_minor) in [(-1, 1), (1_000_000_000_001, 1), (1, 0), (1, 10_001)] {
            assert!(views(&list, base_minor, step_minor).is_err(), "{base_minor}, {step_minor}");
        }
    }

    #[test]
    fn types_of_a_hold_are_read_as_they_were_written() {
        let held = |name: &str, units: &[(u32, u32)]| HeldType {
            id: id("child"),
            name: name.into(),
            proof: true,
            price_minor: 1_250,
            units: units.to_vec(),
        };
        let asked = AskedTypes::new([].into(), [(id("A-1"), id("child"))].into(), [].into());
        let types = HeldTypes {
            asked: asked.expect("one seat"),
            held: vec![held("a/b, c;d", &[(0, 3), (2, 1)]), held("e", &[(3, 1)])],
        };
        assert_eq!(held_types(&held_text(&types)), Ok(types.clone()));
        let nothing_asked = HeldTypes { asked: AskedTypes::default(), ..types };
        assert_eq!(held_types(&held_text(&nothing_asked)), Ok(nothing_asked));
        let unreadable = ["", ";", "child,1,0,x,0;", "child,1,0,x,0:1", "child,1,0,x,0:1;{"];
        let of_no_unit = ["child,1,0,x;", "child,1,0,x,;"];
        for wrong in unreadable.into_iter().chain(of_no_unit) {
            assert!(held_types(wrong).is_err(), "{wrong}");
        }
    }
}
