// Command pictures makes screenshots small: it writes each PNG of a folder again with 256 colours, which is what a page of
// flat areas and some text has. It must not be needed by anything but `make ui-shots`.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1) //nolint:forbidigo // this is a program, whatever its folder
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("name the folder")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "*.png"))
	if err != nil {
		return err
	}
	var total int64
	for _, file := range files {
		size, err := shrink(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		total += size
	}
	_, err = fmt.Fprintf(os.Stdout, "%d pictures, %d KB\n", len(files), total>>10)
	return err
}

func shrink(file string) (size int64, err error) {
	in, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	picture, err := png.Decode(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return 0, err
	}
	// One that was not taken anew stays as it is, byte for byte.
	if _, done := picture.(*image.Paletted); !done {
		if err := write(file, flat(picture)); err != nil {
			return 0, err
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func write(file string, picture image.Image) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	return errors.Join(encoder.Encode(out, picture), out.Close())
}

// coarse is a colour with the lowest bits left out: shades that nobody tells apart are one.
type coarse [3]uint8

func coarseOf(c color.Color) coarse {
	r, g, b, _ := c.RGBA()
	return coarse{uint8(r>>8) &^ 3, uint8(g>>8) &^ 3, uint8(b>>8) &^ 3}
}

// flat has the 256 colours that most of the picture has; what is left goes to the nearest of them.
func flat(picture image.Image) image.Image {
	bounds := picture.Bounds()
	counts, exact := map[coarse]int{}, map[coarse]color.Color{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			at := picture.At(x, y)
			k := coarseOf(at)
			if counts[k]++; counts[k] == 1 {
				exact[k] = at
			}
		}
	}
	kinds := make([]coarse, 0, len(counts))
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b coarse) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	palette := color.Palette{}
	for _, k := range kinds[:min(len(kinds), 256)] {
		palette = append(palette, exact[k])
	}
	nearest := map[coarse]uint8{}
	for _, k := range kinds {
		nearest[k] = uint8(palette.Index(exact[k]))
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[coarseOf(picture.At(x, y))])
		}
	}
	return out
}
