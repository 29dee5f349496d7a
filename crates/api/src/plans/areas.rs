//! What a plan draws beside its seats: the stage, bars, exits, and words.

use super::{Position, coordinate, text};
use crate::json::ids::LabelText;
use crate::json::object::Object;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Areas of one plan, at most.
pub(super) const MAX_AREAS: usize = 1_000;
/// Corners of one polygon, at most.
const MAX_POINTS: usize = 500;
/// The largest letters, in the plan's units.
const MAX_TEXT_SIZE: f64 = 10_000.0;

/// A shape as pretix draws it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanArea {
    /// `rectangle`, `circle`, `ellipse`, `polygon` or `text`; others are left out.
    #[schema(value_type = LabelText)]
    shape: String,
    #[serde(default)]
    #[schema(value_type = Position)]
    position: Object<Position>,
    /// In degrees, around its position.
    #[serde(default)]
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    rotation: f64,
    #[serde(default)]
    #[schema(value_type = Option<LabelText>)]
    color: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<LabelText>)]
    border_color: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<super::Size>)]
    rectangle: Option<Object<super::Size>>,
    #[serde(default)]
    #[schema(value_type = Option<PlanCircle>)]
    circle: Option<Object<PlanCircle>>,
    #[serde(default)]
    #[schema(value_type = Option<PlanEllipse>)]
    ellipse: Option<Object<PlanEllipse>>,
    #[serde(default)]
    #[schema(value_type = Option<PlanPolygon>)]
    polygon: Option<Object<PlanPolygon>>,
    #[serde(default)]
    #[schema(value_type = Option<PlanText>)]
    text: Option<Object<PlanText>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanCircle {
    #[schema(minimum = 0, maximum = 1_000_000)]
    radius: f64,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanEllipse {
    #[schema(value_type = Position)]
    radius: Object<Position>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanPolygon {
    #[schema(value_type = Vec<Position>, max_items = 500)]
    points: Vec<Object<Position>>,
}

/// Words in or without a shape.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PlanText {
    #[serde(default)]
    #[schema(value_type = LabelText)]
    text: String,
    /// From the area's position.
    #[serde(default)]
    #[schema(value_type = Position)]
    position: Object<Position>,
    #[serde(default)]
    #[schema(value_type = Option<LabelText>)]
    color: Option<String>,
    /// The height of its letters.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 10_000)]
    size: Option<f64>,
}

/// An area in the drawing, where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = MapArea)]
pub struct Area {
    /// From the left, in the plan's units.
    pub x: f64,
    /// From the top, in the plan's units.
    pub y: f64,
    /// In degrees, around its position; missing if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub rotation: f64,
    /// Missing where there are words alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub outline: Option<Outline>,
    /// Missing if it is not filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub color: Option<String>,
    /// Missing if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub border_color: Option<String>,
    /// Missing if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub text: Option<AreaText>,
}

/// The shape of an area, from its position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = MapOutline)]
pub enum Outline {
    /// Width and height, from its upper left corner.
    Rectangle([f64; 2]),
    /// Its radii, from its middle.
    Ellipse([f64; 2]),
    /// Its corners.
    Polygon(Vec<[f64; 2]>),
}

/// The words of an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = MapText)]
pub struct AreaText {
    /// What it says.
    pub text: String,
    /// The middle of the words, from the area's position.
    pub x: f64,
    /// The same, downwards.
    pub y: f64,
    /// Missing if the plan says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub color: Option<String>,
    /// The height of its letters, in the plan's units; missing if the plan says none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub size: Option<f64>,
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl PlanArea {
    /// The area where it stands, in a zone at this position; nothing for a shape that is not known.
    pub(super) fn import(&self, zone: Position) -> Result<Option<Area>, String> {
        let pair = |position: Position| {
            Ok::<_, String>([coordinate(position.x)?, coordinate(position.y)?])
        };
        let outline = match self.shape.as_str() {
            "rectangle" => {
                let size = self.rectangle.as_ref().ok_or("an area: a rectangle needs its size")?.0;
                Some(Outline::Rectangle([coordinate(size.width)?, coordinate(size.height)?]))
            }
            "circle" => {
                let circle = self.circle.as_ref().ok_or("an area: a circle needs its radius")?;
                let radius = length(circle.0.radius)?;
                Some(Outline::Ellipse([radius, radius]))
            }
            "ellipse" => {
                let ellipse = self.ellipse.as_ref().ok_or("an area: an ellipse needs its radii")?;
                let radius = ellipse.0.radius.0;
                Some(Outline::Ellipse([length(radius.x)?, length(radius.y)?]))
            }
            "polygon" => {
                let polygon = self.polygon.as_ref().ok_or("an area: a polygon needs its points")?;
                let points = &polygon.0.points;
                if points.len() > MAX_POINTS {
                    return Err(format!(
                        "an area has {} points; use at most {MAX_POINTS}",
                        points.len()
                    ));
                }
                let points = points.iter().map(|Object(point)| pair(*point));
                Some(Outline::Polygon(points.collect::<Result<_, _>>()?))
            }
            "text" => None,
            _ => return Ok(None),
        };
        let text = self.text.as_ref().map(|Object(text)| text.import()).transpose()?.flatten();
        if outline.is_none() && text.is_none() {
            return Ok(None);
        }
        let at = self.position.0;
        Ok(Some(Area {
            x: coordinate(zone.x)? + coordinate(at.x)?,
            y: coordinate(zone.y)? + coordinate(at.y)?,
            rotation: coordinate(self.rotation)?,
            outline,
            color: colour(self.color.as_deref())?,
            border_color: colour(self.border_color.as_deref())?,
            text,
        }))
    }
}

impl PlanText {
    fn import(&self) -> Result<Option<AreaText>, String> {
        let said = text(&self.text, "an area's text")?;
        if said.trim().is_empty() {
            return Ok(None);
        }
        if said.chars().any(char::is_control) {
            return Err(format!(
                "an area's text: {said:?} has signs that do not show; leave them out"
            ));
        }
        if self.size.is_some_and(|size| !(0.0..=MAX_TEXT_SIZE).contains(&size)) {
            return Err(format!("an area's text: size: use 0 to {MAX_TEXT_SIZE}"));
        }
        let Object(at) = self.position;
        Ok(Some(AreaText {
            text: said.to_owned(),
            x: coordinate(at.x)?,
            y: coordinate(at.y)?,
            color: colour(self.color.as_deref())?,
            size: self.size,
        }))
    }
}

/// A radius.
fn length(number: f64) -> Result<f64, String> {
    match coordinate(number)? {
        number if number >= 0.0 => Ok(number),
        number => Err(format!("an area: {number} is no radius; use at least 0")),
    }
}

/// A colour as `#rgb`, `#rrggbb`, either with an opacity, or by its name; an empty text is none.
pub(super) fn colour(colour: Option<&str>) -> Result<Option<String>, String> {
    let Some(colour) = colour.filter(|colour| !colour.is_empty()) else { return Ok(None) };
    let is_hex = |digits: &str| {
        [3, 4, 6, 8].contains(&digits.len())
            && digits.chars().all(|digit| digit.is_ascii_hexdigit())
    };
    let is_name = colour.len() <= 30 && colour.chars().all(|sign| sign.is_ascii_alphabetic());
    if is_name || colour.strip_prefix('#').is_some_and(is_hex) {
        Ok(Some(colour.to_owned()))
    } else {
        Err(format!("{colour:?} is no colour; use one such as #3a332c"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn import(area: Value) -> Result<Option<Area>, String> {
        let area: PlanArea = serde_json::from_value(area).map_err(|error| error.to_string())?;
        area.import(Position { x: 10.0, y: 20.0 })
    }

    #[test]
    fn a_stage_stands_where_its_zone_is() {
        let stage = json!({"shape": "rectangle", "color": "#3a332c", "border_color": "#8a8478",
            "rotation": 15, "position": {"x": 1, "y": 2}, "rectangle": {"width": 30, "height": 4},
            "text": {"text": "STAGE", "color": "#fff", "size": 3, "position": {"x": 15, "y": 2}}});
        let drawn = json!({"x": 11.0, "y": 22.0, "rotation": 15.0,
            "outline": {"rectangle": [30.0, 4.0]}, "color": "#3a332c", "border_color": "#8a8478",
            "text": {"text": "STAGE", "x": 15.0, "y": 2.0, "color": "#fff", "size": 3.0}});
        assert_eq!(json!(import(stage).unwrap().unwrap()), drawn);
    }

    #[test]
    fn every_shape_is_known_and_what_shows_nothing_is_left_out() {
        let outline = |area: Value| import(area).unwrap().map(|area| area.outline);
        let circle = json!({"shape": "circle", "circle": {"radius": 5}});
        assert_eq!(outline(circle), Some(Some(Outline::Ellipse([5.0, 5.0]))));
        let ellipse = json!({"shape": "ellipse", "ellipse": {"radius": {"x": 5, "y": 6}}});
        assert_eq!(outline(ellipse), Some(Some(Outline::Ellipse([5.0, 6.0]))));
        let polygon = json!({"shape": "polygon", "polygon": {"points": [{"x": 1, "y": 2}]}});
        assert_eq!(outline(polygon), Some(Some(Outline::Polygon(vec![[1.0, 2.0]]))));
        assert_eq!(outline(json!({"shape": "text", "text": {"text": "Bar"}})), Some(None));
        assert_eq!(outline(json!({"shape": "text", "text": {"text": " "}})), None);
        assert_eq!(outline(json!({"shape": "spiral"})), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let points = vec![json!({"x": 1, "y": 1}); 501];
        for (area, part) in [
            (json!({"shape": "rectangle"}), "needs its size"),
            (json!({"shape": "circle", "circle": {"radius": -1}}), "no radius"),
            (json!({"shape": "circle", "circle": {"radius": 1e9}}), "too far out"),
            (json!({"shape": "polygon", "polygon": {"points": points}}), "501 points"),
            (json!({"shape": "text", "text": {"text": "a\u{202e}b"}}), "turn the text around"),
            (json!({"shape": "text", "text": {"text": "a", "size": -1}}), "size: use 0"),
            (json!({"shape": "text", "text": {"text": "a"}, "color": "url(x)"}), "no colour"),
            (json!({"shape": "text", "text": {"text": "a", "color": "#12"}}), "no colour"),
        ] {
            let error = import(area).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
