//! Answers that are written while they are sent: a piece is made once the one before it went out.
//!
//! Clients who read slowly hold on to what they are sent, and that is one piece.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How long a piece is, about, that is made for one reader.
pub const PIECE_BYTES: usize = 16 << 10;

/// A piece, and which one is next; nothing after the last.
pub type Written<N, E = Infallible> = Result<(Bytes, Option<N>), E>;

/// The pieces of one answer, which is its body.
pub struct Pieces<S, N, E = Infallible> {
    source: S,
    /// Nothing once the last was written, or one could not be.
    next: Option<N>,
    write: fn(&S, N) -> Written<N, E>,
    /// How many bytes are still to come, if that is known.
    left: Option<u64>,
}

impl<S, N, E> Pieces<S, N, E> {
    /// What `write` makes of a source, from the `first` piece on; how long it is in all is not known.
    #[must_use]
    pub fn new(source: S, first: N, write: fn(&S, N) -> Written<N, E>) -> Self {
        Self { source, next: Some(first), write, left: None }
    }

    /// The same, so many bytes long in all.
    #[must_use]
    pub fn of_length(self, bytes: u64) -> Self {
        Self { left: Some(bytes), ..self }
    }

    /// The next piece; nothing after the last, or after one that could not be written.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn piece(&mut self) -> Option<Result<Bytes, E>> {
        let written = (self.write)(&self.source, self.next.take()?);
        Some(written.map(|(piece, next)| {
            self.next = next;
            if let Some(left) = &mut self.left {
                *left -= piece.len() as u64;
            }
            piece
        }))
    }
}

impl<S: Unpin, N: Unpin, E> Body for Pieces<S, N, E> {
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        Poll::Ready(self.piece().map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// As many pieces as the source says, each of two bytes; the one with the number 3 is not there.
    fn count((pieces, made): &(u32, Cell<u32>), number: u32) -> Written<u32, u32> {
        made.set(made.get() + 1);
        if number == 3 {
            return Err(number);
        }
        let next = number + 1;
        Ok((Bytes::from_static(b"ab"), (next < *pieces).then_some(next)))
    }

    #[test]
    fn a_piece_is_made_when_it_is_asked_for_and_the_length_is_what_is_left() {
        let mut body = Pieces::new((2, Cell::new(0)), 0, count).of_length(4);
        for left in [4, 2] {
            assert_eq!(body.size_hint().exact(), Some(left));
            assert!(!body.is_end_stream());
            assert_eq!(u64::from(body.source.1.get()), 2 - left / 2);
            assert_eq!(body.piece(), Some(Ok(Bytes::from_static(b"ab"))));
        }
        assert_eq!(body.size_hint().exact(), Some(0));
        assert!(body.is_end_stream(), "whoever sends it need not ask again");
        assert_eq!((body.piece(), body.source.1.get()), (None, 2));
    }

    #[test]
    fn a_piece_that_cannot_be_made_is_the_last() {
        let mut body = Pieces::new((9, Cell::new(0)), 2, count);
        assert_eq!(body.size_hint().exact(), None, "nobody knows");
        assert_eq!(body.piece(), Some(Ok(Bytes::from_static(b"ab"))));
        assert_eq!(body.piece(), Some(Err(3)));
        assert!(body.is_end_stream() && body.piece().is_none());
    }
}
