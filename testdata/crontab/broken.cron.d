# Lines of the system format that do not run.
0 3 * * * root
0 3 * * *
@daily root
@daily /usr/bin/true
0 3 * * * root -n
60 3 * * * root echo
0 25 * * * root echo
- 0 3 * * * root echo
@dayly root echo
root echo
