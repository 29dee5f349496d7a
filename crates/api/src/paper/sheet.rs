//! Pages: texts and lines at their places, drawn once all of them are known.

use super::letters::{Letters, Weight};
use krilla::color::rgb;
use krilla::geom::{PathBuilder, Point};
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::paint::Stroke;
use krilla::surface::Surface;
use krilla::{Document, SerializeSettings};

/// A4, in points.
pub(super) const WIDTH: f32 = 595.0;
const HEIGHT: f32 = 842.0;
/// What is left free at each side.
pub(super) const MARGIN: f32 = 56.0;
/// Where a page's contents end.
const BOTTOM: f32 = HEIGHT - 80.0;
/// How far lines are apart, as a share of their size.
const LEADING: f32 = 1.45;

/// Which end of a text stands at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) size: f32,
    pub(super) weight: Weight,
    pub(super) side: Side,
}

impl Style {
    pub(super) const fn left(size: f32, weight: Weight) -> Self {
        Self { size, weight, side: Side::Left }
    }

    pub(super) const fn right(size: f32, weight: Weight) -> Self {
        Self { size, weight, side: Side::Right }
    }

    /// How far lines of this style are apart.
    pub(super) fn leading(self) -> f32 {
        self.size * LEADING
    }
}

enum Mark {
    Text { x: f32, y: f32, style: Style, text: String },
    Rule { y: f32 },
}

/// The pages of a document, written from top to bottom.
pub(super) struct Sheets {
    pub(super) letters: Letters,
    title: String,
    language: &'static str,
    /// With `{page}` and `{pages}` in it.
    footer: String,
    pages: Vec<Vec<Mark>>,
    y: f32,
}

impl Sheets {
    pub(super) fn new(title: String, language: &'static str, footer: String) -> Self {
        let letters = Letters::new();
        Self { letters, title, language, footer, pages: vec![Vec::new()], y: MARGIN }
    }

    /// Goes down, to the next page if so much does not fit on this one; says whether it is a new one.
    pub(super) fn make_room(&mut self, height: f32) -> bool {
        let is_new = self.y + height > BOTTOM && self.y > MARGIN;
        if is_new {
            self.pages.push(Vec::new());
            self.y = MARGIN;
        }
        is_new
    }

    /// Leaves so much free.
    pub(super) fn skip(&mut self, height: f32) {
        self.y += height;
    }

    /// Puts a text at a distance from the left, beside what else stands here.
    pub(super) fn put(&mut self, x: f32, style: Style, text: &str) {
        let (y, text) = (self.y + style.size, text.to_owned());
        self.mark(Mark::Text { x, y, style, text });
    }

    /// Puts a text in lines of a width, each below the one before.
    pub(super) fn put_lines(&mut self, x: f32, style: Style, lines: &[String]) {
        for line in lines {
            self.put(x, style, line);
            self.skip(style.leading());
        }
    }

    /// Draws a line across the page.
    pub(super) fn rule(&mut self) {
        let y = self.y;
        self.mark(Mark::Rule { y });
        self.skip(8.0);
    }

    fn mark(&mut self, mark: Mark) {
        self.pages.last_mut().expect("there is always one").push(mark);
    }

    /// The PDF.
    pub(super) fn draw(self) -> Result<Vec<u8>, String> {
        let Self { letters, title, language, footer, pages, .. } = self;
        let settings = SerializeSettings { xmp_metadata: false, ..SerializeSettings::default() };
        let mut document = Document::new_with(settings);
        document.set_metadata(Metadata::new().title(title).language(language.to_owned()));
        let count = pages.len();
        for (page, marks) in (1..).zip(&pages) {
            let size = PageSettings::from_wh(WIDTH, HEIGHT).expect("A4 is a size");
            let mut sheet = document.start_page_with(size);
            let mut surface = sheet.surface();
            marks.iter().for_each(|mark| draw(&mut surface, &letters, mark));
            let footer = footer.replace("{pages}", &count.to_string());
            let text = footer.replace("{page}", &page.to_string());
            let style = Style::right(8.0, Weight::Regular);
            let (x, y) = (WIDTH - MARGIN, HEIGHT - MARGIN);
            draw(&mut surface, &letters, &Mark::Text { x, y, style, text });
            surface.finish();
            sheet.finish();
        }
        document.finish().map_err(|error| format!("a document cannot be drawn: {error:?}"))
    }
}

fn draw(surface: &mut Surface<'_>, letters: &Letters, mark: &Mark) {
    match mark {
        Mark::Text { x, y, style, text } => {
            let runs = letters.shape(text, style.weight);
            let width = runs.iter().map(|run| run.width).sum::<f32>() * style.size;
            let mut x = if style.side == Side::Left { *x } else { *x - width };
            for run in runs {
                let (at, size) = (Point::from_xy(x, *y), style.size);
                surface.draw_glyphs(at, &run.glyphs, run.font, &run.text, size, false);
                x += run.width * size;
            }
        }
        Mark::Rule { y } => {
            let mut path = PathBuilder::new();
            path.move_to(MARGIN, *y);
            path.line_to(WIDTH - MARGIN, *y);
            let grey = rgb::Color::new(150, 150, 150).into();
            surface.set_stroke(Some(Stroke { paint: grey, width: 0.5, ..Stroke::default() }));
            surface.set_fill(None);
            surface.draw_path(&path.finish().expect("a line has two ends"));
            surface.set_stroke(None);
        }
    }
}
