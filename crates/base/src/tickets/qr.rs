//! Tickets as pictures that scanners read.

use qrcode::render::svg;
use qrcode::types::QrError;
use qrcode::{Color, EcLevel, QrCode};

/// The white margin that scanners need, in modules (ISO/IEC 18004).
const QUIET: usize = 4;
/// Pixels of one module's side in a PNG.
const SCALE: usize = 4;
/// The smallest side of an SVG, in its own units; it can be shown at any size.
const SVG_SIDE: u32 = 300;

/// Medium correction: a screen is clean, and less of it would make the code no easier to read.
fn encode(text: &str) -> Result<QrCode, QrError> {
    QrCode::with_error_correction_level(text, EcLevel::M)
}

/// A QR code as SVG.
///
/// # Errors
/// The text is longer than a QR code can be, which no ticket is.
pub fn svg(text: &str) -> Result<String, QrError> {
    Ok(encode(text)?.render::<svg::Color<'_>>().min_dimensions(SVG_SIDE, SVG_SIDE).build())
}

/// A QR code as a PNG in black and white.
///
/// # Errors
/// The text is longer than a QR code can be, which no ticket is.
pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    let code = encode(text)?;
    let (width, colors) = (code.width(), code.to_colors());
    let side = (width + 2 * QUIET) * SCALE;
    let mut pixels = Vec::with_capacity(side * side);
    for y in 0..side {
        for x in 0..side {
            let module = |pixel: usize| (pixel / SCALE).checked_sub(QUIET).filter(|m| *m < width);
            let dark = match (module(x), module(y)) {
                (Some(x), Some(y)) => colors[y * width + x] == Color::Dark,
                _ => false,
            };
            pixels.push(if dark { 0 } else { u8::MAX });
        }
    }
    let mut out = Vec::new();
    // The largest code has 177 modules a side.
    let side = u32::try_from(side).expect("a QR code is small");
    let mut encoder = png::Encoder::new(&mut out, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    // Writing to memory does not fail, and the sizes fit.
    let mut writer = encoder.write_header().expect("the header fits the picture");
    writer.write_image_data(&pixels).expect("the pixels fit the header");
    writer.finish().expect("memory takes what is written");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_shows_the_modules_of_the_code_inside_a_white_margin() {
        let text = "a text of a ticket";
        let picture = png(text).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&picture)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let code = encode(text).unwrap();
        assert_eq!(info.width as usize, (code.width() + 2 * QUIET) * SCALE);
        let at = |x: usize, y: usize| pixels[y * info.width as usize + x];
        assert_eq!(at(0, 0), u8::MAX);
        for y in 0..code.width() {
            for x in 0..code.width() {
                let dark = code[(x, y)] == Color::Dark;
                let pixel = at((x + QUIET) * SCALE + 1, (y + QUIET) * SCALE + 2);
                assert_eq!(pixel == 0, dark, "{x} {y}");
            }
        }
    }

    #[test]
    fn an_svg_is_one_and_depends_on_the_text() {
        let picture = svg("one").unwrap();
        assert!(picture.contains("<svg") && picture.ends_with("</svg>"), "{picture}");
        assert_ne!(picture, svg("two").unwrap());
    }

    #[test]
    fn what_is_too_long_for_a_code_is_an_error() {
        assert!(svg(&"x".repeat(5_000)).is_err());
    }
}
