from basket.cart import Cart


def test_the_total_counts_quantities():
    cart = Cart()
    cart.add(250, quantity=3)
    cart.add(100)
    assert cart.total() == 850


def test_a_discount_is_taken_off_the_whole():
    cart = Cart(discount=15)
    cart.add(95, quantity=3)
    assert cart.total() == 242


def test_half_a_cent_is_rounded_up():
    cart = Cart(discount=50)
    cart.add(5)
    assert cart.total() == 3
