package media

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

func TestFileBecomesReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		sum := sha256.Sum256([]byte("the bytes"))
		r.answer = func(_ int64, w io.Writer) (gateway.MediaFetched, error) {
			_, err := io.WriteString(w, "the bytes")
			return gateway.MediaFetched{MIME: "Image/PNG; Name=\"x\"", SHA256: sum[:], Size: 9}, err
		}
		r.add(1, "shop", false)
		r.run(time.Minute)
		e, file := r.end(1), hex.EncodeToString(sum[:])
		if e.State != gateway.MediaReady || e.File != file || e.Size != 9 || e.MIME != "image/png; name=x" || !slices.Equal(e.Wanted, []string{"files"}) {
			t.Errorf("ended %+v", e)
		}
		if r.files[file] != "the bytes" || !slices.Equal(r.steps, []string{"media.stored", "media.committed"}) || len(r.ended) != 1 || len(r.started) != 1 {
			t.Errorf("files %v, steps %v, ended %v, started %v", r.files, r.steps, r.ended, r.started)
		}
		if c := r.f.Counts(); c.Fetched != 1 || c.Bytes != 9 || c.InFlight != 0 {
			t.Errorf("counts %+v", c)
		}
	})
}

// A file that ends while the queue is read is in what was read, and is not fetched
// again.
func TestFileEndsWhileTheQueueIsRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.slow = 2 * time.Second
		r.answer = func(int64, io.Writer) (gateway.MediaFetched, error) {
			<-time.After(2500 * time.Millisecond)
			return gateway.MediaFetched{}, nil
		}
		r.add(1, "shop", false)
		r.run(time.Minute)
		if r.end(1); len(r.started) != 1 {
			t.Errorf("fetched %d times", len(r.started))
		}
	})
}

// Which failures end a file at once, after three tries, or only with its id.
func TestHowFilesEnd(t *testing.T) {
	const life = 6 * time.Hour // shorter than an id lives, to save rounds
	for _, c := range []struct {
		name   string
		err    error
		reason string
		tries  int
		after  time.Duration // at most
	}{
		{"final", &gateway.MediaError{Reason: gateway.MediaForbidden, Final: true, Code: "x"}, gateway.MediaForbidden, 1, time.Second},
		{"gone", &gateway.MediaError{Reason: gateway.MediaGone, Code: "404"}, gateway.MediaGone, 3, 13 * time.Second},
		{"a fault that does not pass", &gateway.MediaError{Code: "http_503"}, gateway.MediaExpired, 8, life + time.Second},
		{"a dead token", &gateway.MediaError{Account: true, Code: "190"}, gateway.MediaExpired, 28, life + time.Second},
		{"an error of no kind", errors.New("?"), gateway.MediaExpired, 8, life + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, nil)
				r.answer = func(int64, io.Writer) (gateway.MediaFetched, error) { return gateway.MediaFetched{}, c.err }
				start := time.Now()
				r.add(1, "shop", false).Until = start.Add(life)
				r.run(life + time.Hour)
				e := r.end(1)
				if e.State != gateway.MediaUnavailable || e.Reason != c.reason {
					t.Errorf("ended %s %q", e.State, e.Reason)
				}
				if n := len(r.started); n != c.tries {
					t.Errorf("%d tries, want %d", n, c.tries)
				}
				if d := e.At.Sub(start); d > c.after {
					t.Errorf("ended after %s", d)
				}
			})
		})
	}
}

// Damaged bytes are asked for again, and kept when they come whole.
func TestDamagedThenWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		sum := sha256.Sum256([]byte("whole"))
		r.answer = func(_ int64, w io.Writer) (gateway.MediaFetched, error) {
			body := "whole"
			switch len(r.started) {
			case 1:
				body = "whale"
			case 2:
				body = "who"
			}
			_, err := io.WriteString(w, body)
			return gateway.MediaFetched{SHA256: sum[:]}, err
		}
		r.add(1, "shop", false)
		r.run(time.Minute)
		if e := r.end(1); e.State != gateway.MediaReady || len(r.files) != 1 || e.MIME != Bytes {
			t.Errorf("ended %+v, %d files", e, len(r.files))
		}
	})
}

// One account's dead token holds nobody else, spends no tries, and what came
// meanwhile is fetched once it is mended.
func TestAccountHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		mended := time.Now().Add(10 * time.Minute)
		r.answer = func(n int64, _ io.Writer) (gateway.MediaFetched, error) {
			if n < 100 && time.Now().Before(mended) {
				return gateway.MediaFetched{}, &gateway.MediaError{Account: true, Code: "190"}
			}
			return gateway.MediaFetched{}, nil
		}
		for n := range int64(20) {
			r.add(n, "shop", false)
			r.add(100+n, "other", false)
		}
		r.run(time.Minute)
		for n := range int64(20) {
			r.end(100 + n)
		}
		if len(r.started) > 20+3*4 {
			t.Errorf("a dead token was tried %d times in a minute", len(r.started)-20)
		}
		if h := r.f.Held(); len(h) != 1 || !h["shop"].After(time.Now()) {
			t.Errorf("held %v", h)
		}
		r.run(30 * time.Minute)
		for n := range int64(20) {
			if r.end(n).State != gateway.MediaReady || r.rows[n].Tries != 0 {
				t.Errorf("file %d: %+v, tries %d", n, r.ends[n], r.rows[n].Tries)
			}
		}
	})
}

// A full disk: files wait without spending tries, and go on when there is room.
func TestFullDiskWaits(t *testing.T) {
	for _, how := range []string{"below the reserve", "refused at the start", "refused in the middle", "reserve reached in the middle"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, nil)
				set := func(full bool) {
					r.mu.Lock()
					defer r.mu.Unlock()
					switch how {
					case "below the reserve":
						r.room = !full
					case "refused at the start":
						r.full = full
					}
				}
				bad := true
				r.answer = func(_ int64, w io.Writer) (gateway.MediaFetched, error) {
					if bad {
						r.mu.Lock()
						r.full = r.full || how == "refused in the middle"
						r.room = r.room && how != "reserve reached in the middle"
						r.mu.Unlock()
					}
					_, err := w.Write(make([]byte, 5<<20))
					return gateway.MediaFetched{}, err
				}
				set(true)
				for n := range int64(10) {
					r.add(n, "shop", false)
				}
				r.run(10*time.Minute + time.Second)
				if len(r.ends) != 0 || !r.f.WaitsForRoom() {
					t.Fatalf("%d ended on a full disk, waits %v", len(r.ends), r.f.WaitsForRoom())
				}
				r.mu.Lock()
				r.room, r.full, bad = true, false, false
				r.mu.Unlock()
				r.run(time.Minute)
				for n := range int64(10) {
					if r.end(n).State != gateway.MediaReady || r.rows[n].Tries != 0 {
						t.Errorf("file %d: %+v, tries %d", n, r.ends[n], r.rows[n].Tries)
					}
				}
			})
		})
	}
}

// A ledger that does not take the end: the file is fetched again, with pauses.
func TestLedgerFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.broken = gateway.ErrUnavailable
		r.add(1, "shop", false)
		r.run(time.Minute)
		if n := len(r.started); n < 2 || n > 13 {
			t.Errorf("%d fetches in a minute", n)
		}
		r.broken = nil
		r.run(time.Minute)
		r.end(1)
	})
}

// No more at once than allowed, per account and in all; old files leave places
// for new ones and go behind them; no account starves.
func TestBounds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Parallel, o.PerAccount = 6, 4 })
		r.answer = func(int64, io.Writer) (gateway.MediaFetched, error) {
			time.Sleep(time.Second)
			return gateway.MediaFetched{}, nil
		}
		for n := range int64(200) {
			r.add(n, "history", true)
		}
		for n := range int64(40) {
			r.add(1000+n, "shop", false)
		}
		r.add(2000, "small", false)
		r.run(10 * time.Minute)
		if len(r.ends) != 241 {
			t.Errorf("%d ended", len(r.ends))
		}
		for who, most := range map[string]int{"": 6, "shop": 4, "history": 2, "low": 3} {
			if r.most[who] > most {
				t.Errorf("%q: %d at once", who, r.most[who])
			}
		}
		if at := slices.Index(r.started, 2000); at > 12 {
			t.Errorf("a small account was number %d", at)
		}
	})
}

// A fetch in flight when the process stops begins anew.
func TestStopInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.answer = func(int64, io.Writer) (gateway.MediaFetched, error) {
			time.Sleep(time.Minute)
			return gateway.MediaFetched{}, nil
		}
		r.add(1, "shop", false)
		r.run(10 * time.Second)
		if len(r.ends) != 0 || r.rows[1].Tries != 0 {
			t.Errorf("ended %v, tries %d", r.ends, r.rows[1].Tries)
		}
		r.run(2 * time.Minute)
		r.end(1)
	})
}

// Files of an account that is not configured wait for it until their ids end.
func TestUnknownAccount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.add(1, "nobody", false).Until = time.Now().Add(2 * time.Hour)
		r.add(2, "shop", false)
		r.run(time.Hour)
		r.end(2)
		if r.ends[1] != nil || r.rows[1].Tries != 0 {
			t.Errorf("%+v", r.ends[1])
		}
		r.run(2 * time.Hour)
		if e := r.end(1); e.Reason != gateway.MediaExpired {
			t.Errorf("%+v", e)
		}
	})
}

// The notice of an observed event is for observers.
func TestObservedIsWantedByNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.add(1, "shop", true).Observed = gateway.ObservedHistory
		r.run(time.Minute)
		if e := r.end(1); len(e.Wanted) != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{
		"image/jpeg": "image/jpeg", "audio/ogg; codecs=opus": "audio/ogg; codecs=opus", " Text/HTML ;charset=UTF-8": "text/html; charset=UTF-8",
		"": Bytes, "image": Bytes, "image/png\r\nX: y": Bytes, "a/b; c": Bytes, "/": Bytes,
	} {
		if got := mediaType(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
